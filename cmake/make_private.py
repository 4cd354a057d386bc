"""Makes a copy of oneDNN a private matter of the libraries that call it, in two steps.

--openmp, when tools/setup lays the copy down: it calls our threads (base/team) where it called
libgomp. The library that it needs gets our library's name, and the six functions that it calls get
the names that base/team/openmp_names.c has, so that no OpenMP of the process is called instead. And
its statics stay when the process ends: it has a few thousand (tables of implementations, caches),
which exit() would destroy under threads that still build. What registers their ends (__cxa_atexit)
is bound to a function without effect; nothing that ends them at dlclose goes missing, since the
copy is never unloaded.

--onednn, when it is installed: the loader takes the first library of a SONAME for all who ask.
Under its usual name, another oneDNN in the process (a Python package's, of another version) would
be taken for ours, or ours for theirs. So the copy gets a SONAME of its own, and all that ask for it
ask for this.

A SONAME decides which file is loaded, but not which symbols are bound: the loader binds a name to
the first library that has it, the program's own libraries and those opened with RTLD_GLOBAL first;
and unique symbols (STB_GNU_UNIQUE: statics of C++ templates and inline functions) to the first of
the whole process, of which oneDNN has ten thousand, its kernels among them. So:

  - oneDNN's C interface is renamed in all of the files, dnnl_* to eMnl_*. The new name has the hash
    of the old one (h * 33 + c: one more in front, 33 less behind), so that the tables of symbols
    stay as they are, and so do those of C++ names that end in a C name and share its bytes;
  - in oneDNN itself, unique symbols become ordinary ones, and it looks its own up first
    (DF_SYMBOLIC).

Every new name is as long as the old one, and files are changed in place. (patchelf would lay down
the table of names anew, 10 MB in oneDNN's, and Debian 12's mixes names up when it is to change two
at once.) What was changed already is left as it is. Sources: the ELF specification, chapter 5, and
its GNU extensions (DT_GNU_HASH, STB_GNU_UNIQUE).
"""

import argparse
import mmap
import struct
import sys
from pathlib import Path

ONEDNN = {b"libdnnl.so.3": b"liblkdnnl.so"}
OLD, NEW = b"dnnl_", b"eMnl_"
OPENMP = {b"libgomp.so.1": b"liblkteam.so"}
OPENMP_FUNCTIONS = {  # called, not defined: no table of hashes has them
    b"GOMP_parallel": b"LKTM_parallel", b"GOMP_barrier": b"LKTM_barrier",
    b"omp_get_max_threads": b"lkt_get_max_threads", b"omp_get_num_threads": b"lkt_get_num_threads",
    b"omp_get_thread_num": b"lkt_get_thread_num", b"omp_in_parallel": b"lkt_in_parallel"}
# both called, of one version; what they return is not read
EXIT, NO_EFFECT = b"__cxa_atexit", b"pthread_self"
PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_STRTAB, DT_STRSZ, DT_FLAGS, DT_GNU_HASH = 0, 5, 10, 30, 0x6FFFFEF5
DF_SYMBOLIC = 2
STB_GLOBAL, STB_GNU_UNIQUE = 1, 10
SHT_DYNSYM = 11
SYMBOL = struct.Struct("<IBBHQQ")  # st_name, st_info, st_other, st_shndx, st_value, st_size


def gnu_hash(name):
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


class Library:
    """An ELF file for 64-bit little-endian machines, mapped to be changed."""

    def __init__(self, path, file):
        self.path = path
        self.data = mmap.mmap(file.fileno(), 0)
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"failed to read {path}: not a 64-bit little-endian ELF file")
        (offset,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        self.segments = [struct.unpack_from("<IIQQQQ", self.data, offset + i * size)
                         for i in range(count)]
        self.dynamic = dict(self.read_dynamic())

    def read_dynamic(self):
        """Pairs of a tag and (place of its value, value)."""
        at = next(segment[2] for segment in self.segments if segment[0] == PT_DYNAMIC)
        while True:
            tag, value = struct.unpack_from("<QQ", self.data, at)
            if tag == DT_NULL:
                return
            yield tag, (at + 8, value)
            at += 16

    def place(self, tag):
        """Where in the file lies what an entry of the dynamic section points to."""
        address = self.dynamic[tag][1]
        for kind, _, offset, start, _, size in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return address - start + offset
        raise ValueError(f"failed to read {self.path}: address {address:#x} lies in no segment")

    def symbols(self):
        """Places of the dynamic symbols; their number is known to the section headers only."""
        (offset,) = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        for i in range(count):
            header = struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size)
            if header[1] == SHT_DYNSYM:
                return range(header[4], header[4] + header[5], SYMBOL.size)
        raise ValueError(f"failed to read {self.path}: no dynamic symbols")

    def name_of(self, symbol):
        begin = self.place(DT_STRTAB) + SYMBOL.unpack_from(self.data, symbol)[0]
        return self.data[begin:self.data.find(b"\0", begin)]

    def rename_libraries(self, names):
        """SONAME, what is needed, and whose versions: all refer to the one table of names."""
        begin = self.place(DT_STRTAB)
        end = begin + self.dynamic[DT_STRSZ][1]
        for old, new in names.items():
            at = self.data.find(b"\0" + old + b"\0", begin, end)
            if at >= 0:
                self.data[at + 1:at + 1 + len(new)] = new

    def rename_openmp(self):
        """Refuses what calls more of OpenMP than there is in our library."""
        for at in self.symbols():
            name = self.name_of(at)
            if name in OPENMP_FUNCTIONS:
                begin = self.place(DT_STRTAB) + SYMBOL.unpack_from(self.data, at)[0]
                self.data[begin:begin + len(name)] = OPENMP_FUNCTIONS[name]
            elif name.startswith((b"GOMP_", b"omp_")):
                raise ValueError(f"failed to change {self.path}: it uses {name.decode()} of OpenMP")

    def keep_statics(self):
        """A name is where its symbol says, which other names may share: the symbol is changed, not
        the name."""
        called = {self.name_of(at): at for at in self.symbols()}
        if EXIT not in called:
            return
        if NO_EFFECT not in called:
            raise ValueError(f"failed to change {self.path}: it does not call {NO_EFFECT.decode()}")
        to, by = called[EXIT], called[NO_EFFECT]
        self.data[to:to + 4] = self.data[by:by + 4]  # st_name

    def rename_symbols(self):
        if DT_GNU_HASH not in self.dynamic:  # another hash than ours would not stay the same
            raise ValueError(f"failed to change {self.path}: it has no GNU hash table")
        names = self.place(DT_STRTAB)
        for at in self.symbols():
            name = names + SYMBOL.unpack_from(self.data, at)[0]
            if self.data[name:name + len(OLD)] == OLD:
                self.data[name:name + len(NEW)] = NEW

    def close_off(self):
        for at in self.symbols():
            info = self.data[at + 4]
            if info >> 4 == STB_GNU_UNIQUE:
                self.data[at + 4] = STB_GLOBAL << 4 | (info & 15)
        if DT_FLAGS not in self.dynamic:
            raise ValueError(f"failed to change {self.path}: it has no flags (DT_FLAGS)")
        at, flags = self.dynamic[DT_FLAGS]
        struct.pack_into("<Q", self.data, at, flags | DF_SYMBOLIC)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    step = parser.add_mutually_exclusive_group(required=True)
    step.add_argument("--openmp", type=Path, metavar="ONEDNN",
                      help="the copy that is to call our threads")
    step.add_argument("--onednn", type=Path, help="the copy that gets names of its own")
    parser.add_argument("others", type=Path, nargs="*", help="with --onednn: all that need it")
    args = parser.parse_args()
    assert gnu_hash(OLD) == gnu_hash(NEW) and len(OLD) == len(NEW)
    assert all(len(old) == len(new)
               for old, new in {**ONEDNN, **OPENMP, **OPENMP_FUNCTIONS}.items())
    for path in (args.openmp or args.onednn, *args.others):
        with path.open("r+b") as file:
            library = Library(path, file)
            if path == args.openmp:
                library.keep_statics()
                library.rename_openmp()
                library.rename_libraries(OPENMP)
            else:
                library.rename_libraries(ONEDNN)
                library.rename_symbols()
            if path == args.onednn:
                library.close_off()
            library.data.flush()


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"make_private: {error}")
