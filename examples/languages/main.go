// Runs a model on two goroutines, which share it. The Go compiler compiles one_model.c beside this
// file; CGO_CFLAGS and CGO_LDFLAGS say where Latchkey is.
package main

/*
#cgo LDFLAGS: -llatchkey
#include <stdlib.h>
#include "one_model.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"
)

const messageSize = 512

type model struct{ c *C.one_model }

func open(path string) (model, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var message [messageSize]C.char
	c := C.one_model_open(name, &message[0], messageSize)
	if c == nil {
		return model{}, errors.New(C.GoString(&message[0]))
	}
	return model{c}, nil
}

func (m model) close() { C.one_model_close(m.c) }

// run computes the output of x, which has rows of so many columns.
func (m model) run(x []float32, columns int) ([]float32, error) {
	if len(x) == 0 || columns < 1 || len(x)%columns != 0 {
		return nil, fmt.Errorf("%d numbers are no rows of %d", len(x), columns)
	}
	y := make([]float32, len(x))
	var message [messageSize]C.char
	count := C.one_model_run(m.c, (*C.float)(&x[0]), C.int64_t(len(x)/columns), C.int64_t(columns),
		(*C.float)(&y[0]), C.int64_t(len(y)), &message[0], messageSize)
	if count < 0 {
		return nil, errors.New(C.GoString(&message[0]))
	}
	return y[:count], nil
}

func main() {
	m, err := open("model.onnx")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer m.close()
	results := make([]string, 2)
	var group sync.WaitGroup
	for i := range results {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			y, err := m.run([]float32{-1, 2, float32(i)}, 3)
			results[i] = fmt.Sprint(y, err)
		}(i)
	}
	group.Wait()
	for _, result := range results {
		fmt.Println(result)
	}
}
