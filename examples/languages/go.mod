module one_model

go 1.19
