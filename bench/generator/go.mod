module milepost/bench/generator

go 1.26
