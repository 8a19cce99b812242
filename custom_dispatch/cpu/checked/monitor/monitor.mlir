// The functions of monitor.cu, compiled by tests/cpu/monitor_text.py. Do not edit.
  llvm.func @calloc(i64, i64) -> !llvm.ptr attributes {hal.import.static}
  llvm.func @free(!llvm.ptr) attributes {hal.import.static}
  llvm.func @write(i32, !llvm.ptr, i64) -> i64 attributes {hal.import.static}
  llvm.func @open_memstream(!llvm.ptr, !llvm.ptr) -> !llvm.ptr attributes {hal.import.static}
  llvm.func @fclose(!llvm.ptr) -> i32 attributes {hal.import.static}
  llvm.func @fputc(i32, !llvm.ptr) -> i32 attributes {hal.import.static}
  llvm.func @fputs(!llvm.ptr, !llvm.ptr) -> i32 attributes {hal.import.static}
  llvm.func @fprintf(!llvm.ptr, !llvm.ptr, ...) -> i32 attributes {hal.import.static}
  llvm.mlir.global internal @check.variable.17() {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<8192 x i8> {
    %1 = llvm.mlir.zero : !llvm.array<8192 x i8>
    llvm.return %1 : !llvm.array<8192 x i8>
  }
  llvm.mlir.global internal @check.variable.18() {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<4 x i8> {
    %1 = llvm.mlir.zero : !llvm.array<4 x i8>
    llvm.return %1 : !llvm.array<4 x i8>
  }
  llvm.mlir.global internal @check.variable.19() {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<4 x i8> {
    %1 = llvm.mlir.zero : !llvm.array<4 x i8>
    llvm.return %1 : !llvm.array<4 x i8>
  }
  llvm.mlir.global internal @check.variable.20() {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<4 x i8> {
    %1 = llvm.mlir.zero : !llvm.array<4 x i8>
    llvm.return %1 : !llvm.array<4 x i8>
  }
  llvm.mlir.global internal @check.variable.21() {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<192 x i8> {
    %1 = llvm.mlir.zero : !llvm.array<192 x i8>
    llvm.return %1 : !llvm.array<192 x i8>
  }
  llvm.mlir.global internal @check.variable.22() {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<4 x i8> {
    %1 = llvm.mlir.zero : !llvm.array<4 x i8>
    llvm.return %1 : !llvm.array<4 x i8>
  }
  llvm.mlir.global internal @check.variable.23("\73\68\61\72\65\64\20\6D\65\6D\6F\72\79\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.24("\74\68\65\20\74\68\72\65\61\64\27\73\20\6C\6F\63\61\6C\20\6D\65\6D\6F\72\79\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.25("\2D\2B\20\23\30\31\32\33\34\35\36\37\38\39\2E\68\6C\6A\7A\74\2A\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.26("\6C\6A\7A\74\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.27("\66\46\65\45\67\47\61\41\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.28("\64\69\75\6F\78\58\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.29("\64\69\75\6F\78\58\70\73\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.30("\28\6E\75\6C\6C\29\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.31("\77\72\69\74\65\73\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.32("\61\74\6F\6D\69\63\61\6C\6C\79\20\75\70\64\61\74\65\73\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.33("\72\65\61\64\73\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.34("\6F\74\68\65\72\20\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.35("\62\6C\6F\63\6B\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.36("\74\68\72\65\61\64\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.37("\28\25\75\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.38("\2C\20\25\75\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.39("\2C\20\25\75\29\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.40("\6B\65\72\6E\65\6C\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.41("\70\6C\61\63\65\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.42("\76\65\72\62\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.43("\6F\62\6A\65\63\74\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.44("\61\73\73\65\72\74\69\6F\6E\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.45("\66\69\6C\65\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.46("\66\75\6E\63\74\69\6F\6E\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.47("\6C\65\6E\67\74\68\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.48("\73\69\7A\65\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.49("\6C\69\6E\65\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.50("\61\64\64\72\65\73\73\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.51("\30\78\25\6C\6C\78\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.mlir.global internal @check.variable.52("\25\6C\6C\64\00") {addr_space = 0 : i32, alignment = 16 : i64}
  llvm.func internal @check.found(%a0: i64, %a1: i32, %a2: i32, %a3: i32, %a4: i64, %a5: i64, %a6: i64, %a7: i64) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r9 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r9 : i64, !llvm.ptr
    %r12 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r12 : i32, !llvm.ptr
    %r14 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r14 : i32, !llvm.ptr
    %r17 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r17 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r14 : i32, !llvm.ptr
    llvm.store %a2, %r12 : i32, !llvm.ptr
    llvm.store %a3, %r17 : i32, !llvm.ptr
    llvm.store %a4, %r3 : i64, !llvm.ptr
    llvm.store %a5, %r5 : i64, !llvm.ptr
    llvm.store %a6, %r7 : i64, !llvm.ptr
    llvm.store %a7, %r9 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.load %r3 : !llvm.ptr -> i64
    %6 = llvm.load %r5 : !llvm.ptr -> i64
    %7 = llvm.load %r7 : !llvm.ptr -> i64
    %8 = llvm.load %r9 : !llvm.ptr -> i64
    %9 = llvm.load %r12 : !llvm.ptr -> i32
    %10 = llvm.load %r14 : !llvm.ptr -> i32
    %11 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %12 = llvm.getelementptr %11[224] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %10, %12 <alignment = 4> : i32, !llvm.ptr
    %13 = llvm.getelementptr %12[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %9, %13 <alignment = 4> : i32, !llvm.ptr
    %14 = llvm.load %r17 : !llvm.ptr -> i32
    %15 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %16 = llvm.getelementptr %15[232] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %14, %16 <alignment = 4> : i32, !llvm.ptr
    %17 = llvm.getelementptr %16[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %17 <alignment = 4> : i32, !llvm.ptr
    %18 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %19 = llvm.getelementptr %18[240] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %5, %19 <alignment = 8> : i64, !llvm.ptr
    %20 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %21 = llvm.getelementptr %20[248] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %6, %21 <alignment = 8> : i64, !llvm.ptr
    %22 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %23 = llvm.getelementptr %22[256] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %7, %23 <alignment = 8> : i64, !llvm.ptr
    %24 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %25 = llvm.getelementptr %24[264] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %8, %25 <alignment = 8> : i64, !llvm.ptr
    %26 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %27 = llvm.getelementptr %26[92] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %27 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^exit
  ^b1:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.stops(%a0: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.mlir.constant(false) : i1
    %7 = llvm.mlir.constant(116 : i64) : i64
    %27 = llvm.mlir.constant(true) : i1
    %43 = llvm.mlir.constant(1 : i64) : i64
    %57 = llvm.mlir.constant(14 : i32) : i32
    %69 = llvm.mlir.constant(15 : i32) : i32
    %90 = llvm.mlir.constant(12 : i32) : i32
    %91 = llvm.mlir.constant(32 : i32) : i32
    %98 = llvm.mlir.constant(36 : i32) : i32
    %99 = llvm.mlir.constant(64 : i32) : i32
    %108 = llvm.mlir.constant(8 : i32) : i32
    %117 = llvm.mlir.constant(48 : i32) : i32
    %166 = llvm.mlir.constant(7 : i32) : i32
    %196 = llvm.mlir.constant(48 : i64) : i64
    %r0 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i64, !llvm.ptr
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r2 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    %r6 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r6 : i32, !llvm.ptr
    %r8 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r8 : i1, !llvm.ptr
    %r9 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r9 : i64, !llvm.ptr
    %r10 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r10 : i64, !llvm.ptr
    %r11 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r11 : i32, !llvm.ptr
    %r16 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r16 : i32, !llvm.ptr
    %r17 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r17 : i32, !llvm.ptr
    %r20 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r20 : i32, !llvm.ptr
    %r21 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r21 : i32, !llvm.ptr
    %r22 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r22 : i64, !llvm.ptr
    %r24 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r24 : i32, !llvm.ptr
    %r34 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r34 : i64, !llvm.ptr
    %r54 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r54 : i32, !llvm.ptr
    %r67 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r67 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %5 = llvm.load %r1 : !llvm.ptr -> i64
    llvm.store %5, %r0 : i64, !llvm.ptr
    %6 = llvm.load %r0 : !llvm.ptr -> i64
    %8 = llvm.add %6, %7 : i64
    llvm.store %8, %r2 : i64, !llvm.ptr
    %9 = llvm.load %r0 : !llvm.ptr -> i64
    %10 = llvm.inttoptr %9 : i64 to !llvm.ptr
    %11 = llvm.getelementptr %10[116] : (!llvm.ptr) -> !llvm.ptr, i8
    %12 = llvm.load %11 <alignment = 4> : !llvm.ptr -> i32
    %13 = llvm.icmp "eq" %12, %3 : i32
    llvm.cond_br %13, ^b16, ^b1
  ^b1:
    llvm.store %3, %r5 : i32, !llvm.ptr
    %14 = llvm.load %r2 : !llvm.ptr -> i64
    %15 = llvm.inttoptr %14 : i64 to !llvm.ptr
    %16 = llvm.load %r5 : !llvm.ptr -> i32
    llvm.store %16, %15 <alignment = 4> : i32, !llvm.ptr
    %17 = llvm.load %r2 : !llvm.ptr -> i64
    %18 = llvm.inttoptr %17 : i64 to !llvm.ptr
    %19 = llvm.getelementptr %18[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %20 = llvm.load %19 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %20, %r6 : i32, !llvm.ptr
    %21 = llvm.load %r6 : !llvm.ptr -> i32
    %22 = llvm.icmp "eq" %21, %3 : i32
    llvm.store %4, %r8 : i1, !llvm.ptr
    llvm.cond_br %22, ^b4, ^b2
  ^b2:
    %23 = llvm.load %r2 : !llvm.ptr -> i64
    %24 = llvm.inttoptr %23 : i64 to !llvm.ptr
    %25 = llvm.getelementptr %24[44] : (!llvm.ptr) -> !llvm.ptr, i8
    %26 = llvm.load %25 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %26, %r9 : i64, !llvm.ptr
    llvm.store %27, %r8 : i1, !llvm.ptr
    %28 = llvm.load %r0 : !llvm.ptr -> i64
    llvm.store %28, %r10 : i64, !llvm.ptr
    %29 = llvm.load %r5 : !llvm.ptr -> i32
    llvm.store %29, %r11 : i32, !llvm.ptr
    llvm.br ^b3
  ^b3:
    %30 = llvm.load %r9 : !llvm.ptr -> i64
    %31 = llvm.inttoptr %30 : i64 to !llvm.ptr
    %32 = llvm.load %31 <alignment = 1> : !llvm.ptr -> i8
    %33 = llvm.zext %32 : i8 to i16
    %34 = llvm.load %r10 : !llvm.ptr -> i64
    %35 = llvm.inttoptr %34 : i64 to !llvm.ptr
    %36 = llvm.getelementptr %35[124] : (!llvm.ptr) -> !llvm.ptr, i8
    %37 = llvm.load %36 <alignment = 1> : !llvm.ptr -> i8
    %38 = llvm.zext %37 : i8 to i16
    %39 = llvm.icmp "eq" %38, %33 : i16
    %40 = llvm.load %r8 : !llvm.ptr -> i1
    %41 = llvm.and %40, %39 : i1
    llvm.store %41, %r8 : i1, !llvm.ptr
    %42 = llvm.load %r9 : !llvm.ptr -> i64
    %44 = llvm.add %42, %43 : i64
    llvm.store %44, %r9 : i64, !llvm.ptr
    %45 = llvm.load %r10 : !llvm.ptr -> i64
    %46 = llvm.add %45, %43 : i64
    llvm.store %46, %r10 : i64, !llvm.ptr
    %47 = llvm.load %r11 : !llvm.ptr -> i32
    %48 = llvm.add %47, %1 : i32
    llvm.store %48, %r11 : i32, !llvm.ptr
    %49 = llvm.load %r11 : !llvm.ptr -> i32
    %50 = llvm.load %r6 : !llvm.ptr -> i32
    %51 = llvm.icmp "ult" %49, %50 : i32
    llvm.cond_br %51, ^b3, ^b4
  ^b4:
    %52 = llvm.load %r2 : !llvm.ptr -> i64
    %53 = llvm.inttoptr %52 : i64 to !llvm.ptr
    %54 = llvm.getelementptr %53[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %55 = llvm.load %r5 : !llvm.ptr -> i32
    llvm.store %55, %54 <alignment = 4> : i32, !llvm.ptr
    %56 = llvm.load %r8 : !llvm.ptr -> i1
    llvm.cond_br %56, ^b6, ^b5
  ^b5:
    llvm.br ^b7
  ^b6:
    llvm.store %57, %r16 : i32, !llvm.ptr
    %58 = llvm.load %r2 : !llvm.ptr -> i64
    %59 = llvm.inttoptr %58 : i64 to !llvm.ptr
    %60 = llvm.getelementptr %59[60] : (!llvm.ptr) -> !llvm.ptr, i8
    %61 = llvm.load %r16 : !llvm.ptr -> i32
    llvm.store %61, %60 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b8
  ^b7:
    %62 = llvm.load %r2 : !llvm.ptr -> i64
    %63 = llvm.inttoptr %62 : i64 to !llvm.ptr
    %64 = llvm.getelementptr %63[60] : (!llvm.ptr) -> !llvm.ptr, i8
    %65 = llvm.load %64 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %65, %r16 : i32, !llvm.ptr
    llvm.br ^b8
  ^b8:
    %66 = llvm.load %r16 : !llvm.ptr -> i32
    %67 = llvm.or %66, %1 : i32
    llvm.store %67, %r17 : i32, !llvm.ptr
    %68 = llvm.load %r17 : !llvm.ptr -> i32
    %70 = llvm.icmp "eq" %68, %69 : i32
    llvm.cond_br %70, ^b10, ^b9
  ^b9:
    %71 = llvm.load %r2 : !llvm.ptr -> i64
    %72 = llvm.inttoptr %71 : i64 to !llvm.ptr
    %73 = llvm.getelementptr %72[-4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %73 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b10
  ^b10:
    %74 = llvm.load %r2 : !llvm.ptr -> i64
    %75 = llvm.inttoptr %74 : i64 to !llvm.ptr
    %76 = llvm.getelementptr %75[68] : (!llvm.ptr) -> !llvm.ptr, i8
    %77 = llvm.load %76 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %77, %r20 : i32, !llvm.ptr
    %78 = llvm.getelementptr %76[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %79 = llvm.load %78 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %79, %r21 : i32, !llvm.ptr
    %80 = llvm.load %r2 : !llvm.ptr -> i64
    %81 = llvm.inttoptr %80 : i64 to !llvm.ptr
    %82 = llvm.getelementptr %81[-8] : (!llvm.ptr) -> !llvm.ptr, i8
    %83 = llvm.load %82 <alignment = 4> : !llvm.ptr -> i32
    %84 = llvm.zext %83 : i32 to i64
    llvm.store %84, %r22 : i64, !llvm.ptr
    %85 = llvm.load %r22 : !llvm.ptr -> i64
    %86 = llvm.icmp "eq" %85, %2 : i64
    llvm.cond_br %86, ^b14, ^b11
  ^b11:
    llvm.store %3, %r24 : i32, !llvm.ptr
    %87 = llvm.load %r20 : !llvm.ptr -> i32
    %88 = llvm.zext %87 : i32 to i64
    %89 = llvm.load %r21 : !llvm.ptr -> i32
    %92 = llvm.icmp "uge" %90, %91 : i32
    %93 = llvm.select %92, %3, %90 : i1, i32
    %94 = llvm.lshr %89, %93 : i32
    %95 = llvm.select %92, %3, %94 : i1, i32
    %96 = llvm.zext %95 : i32 to i64
    %97 = llvm.call_intrinsic "llvm.umax"(%88, %96) : (i64, i64) -> i64
    %100 = llvm.icmp "uge" %98, %99 : i32
    %101 = llvm.select %100, %3, %98 : i1, i32
    %102 = llvm.zext %101 : i32 to i64
    %103 = llvm.shl %97, %102 : i64
    %104 = llvm.select %100, %2, %103 : i1, i64
    %105 = llvm.load %r16 : !llvm.ptr -> i32
    %106 = llvm.zext %105 : i32 to i64
    %107 = llvm.call_intrinsic "llvm.umin"(%88, %96) : (i64, i64) -> i64
    %109 = llvm.icmp "uge" %108, %99 : i32
    %110 = llvm.select %109, %3, %108 : i1, i32
    %111 = llvm.zext %110 : i32 to i64
    %112 = llvm.shl %107, %111 : i64
    %113 = llvm.select %109, %2, %112 : i1, i64
    %114 = llvm.or %113, %106 : i64
    %115 = llvm.or %114, %104 : i64
    llvm.store %115, %r34 : i64, !llvm.ptr
    llvm.br ^b12
  ^b12:
    %116 = llvm.load %r24 : !llvm.ptr -> i32
    %118 = llvm.zext %116 : i32 to i64
    %119 = llvm.zext %117 : i32 to i64
    %120 = llvm.mul %118, %119 : i64
    %121 = llvm.load %r0 : !llvm.ptr -> i64
    %122 = llvm.add %121, %120 : i64
    %123 = llvm.inttoptr %122 : i64 to !llvm.ptr
    %124 = llvm.getelementptr %123[272] : (!llvm.ptr) -> !llvm.ptr, i8
    %125 = llvm.load %124 <alignment = 4> : !llvm.ptr -> i32
    %126 = llvm.getelementptr %124[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %127 = llvm.load %126 <alignment = 4> : !llvm.ptr -> i32
    %128 = llvm.inttoptr %122 : i64 to !llvm.ptr
    %129 = llvm.getelementptr %128[280] : (!llvm.ptr) -> !llvm.ptr, i8
    %130 = llvm.load %129 <alignment = 4> : !llvm.ptr -> i32
    %131 = llvm.getelementptr %129[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %132 = llvm.load %131 <alignment = 4> : !llvm.ptr -> i32
    %133 = llvm.zext %130 : i32 to i64
    %134 = llvm.icmp "uge" %90, %91 : i32
    %135 = llvm.select %134, %3, %90 : i1, i32
    %136 = llvm.lshr %132, %135 : i32
    %137 = llvm.select %134, %3, %136 : i1, i32
    %138 = llvm.zext %137 : i32 to i64
    %139 = llvm.zext %125 : i32 to i64
    %140 = llvm.call_intrinsic "llvm.umin"(%133, %138) : (i64, i64) -> i64
    %141 = llvm.icmp "uge" %108, %99 : i32
    %142 = llvm.select %141, %3, %108 : i1, i32
    %143 = llvm.zext %142 : i32 to i64
    %144 = llvm.shl %140, %143 : i64
    %145 = llvm.select %141, %2, %144 : i1, i64
    %146 = llvm.or %145, %139 : i64
    %147 = llvm.call_intrinsic "llvm.umax"(%133, %138) : (i64, i64) -> i64
    %148 = llvm.icmp "uge" %98, %99 : i32
    %149 = llvm.select %148, %3, %98 : i1, i32
    %150 = llvm.zext %149 : i32 to i64
    %151 = llvm.shl %147, %150 : i64
    %152 = llvm.select %148, %2, %151 : i1, i64
    %153 = llvm.or %146, %152 : i64
    %154 = llvm.load %r34 : !llvm.ptr -> i64
    %155 = llvm.icmp "eq" %153, %154 : i64
    %156 = llvm.load %r24 : !llvm.ptr -> i32
    %157 = llvm.add %156, %1 : i32
    llvm.store %157, %r24 : i32, !llvm.ptr
    llvm.cond_br %155, ^b16, ^b13
  ^b13:
    %158 = llvm.load %r22 : !llvm.ptr -> i64
    %159 = llvm.trunc %158 : i64 to i32
    %160 = llvm.load %r24 : !llvm.ptr -> i32
    %161 = llvm.icmp "ult" %160, %159 : i32
    llvm.cond_br %161, ^b12, ^b14
  ^b14:
    %162 = llvm.load %r22 : !llvm.ptr -> i64
    %163 = llvm.trunc %162 : i64 to i32
    llvm.store %163, %r54 : i32, !llvm.ptr
    %164 = llvm.load %r17 : !llvm.ptr -> i32
    %165 = llvm.icmp "ne" %164, %69 : i32
    %167 = llvm.select %165, %108, %166 : i1, i32
    %168 = llvm.load %r54 : !llvm.ptr -> i32
    %169 = llvm.icmp "uge" %168, %167 : i32
    llvm.cond_br %169, ^b16, ^b15
  ^b15:
    %170 = llvm.load %r2 : !llvm.ptr -> i64
    %171 = llvm.inttoptr %170 : i64 to !llvm.ptr
    %172 = llvm.getelementptr %171[76] : (!llvm.ptr) -> !llvm.ptr, i8
    %173 = llvm.load %172 <alignment = 8> : !llvm.ptr -> i64
    %174 = llvm.load %r2 : !llvm.ptr -> i64
    %175 = llvm.inttoptr %174 : i64 to !llvm.ptr
    %176 = llvm.getelementptr %175[84] : (!llvm.ptr) -> !llvm.ptr, i8
    %177 = llvm.load %176 <alignment = 8> : !llvm.ptr -> i64
    %178 = llvm.load %r2 : !llvm.ptr -> i64
    %179 = llvm.inttoptr %178 : i64 to !llvm.ptr
    %180 = llvm.getelementptr %179[92] : (!llvm.ptr) -> !llvm.ptr, i8
    %181 = llvm.load %180 <alignment = 8> : !llvm.ptr -> i64
    %182 = llvm.load %r2 : !llvm.ptr -> i64
    %183 = llvm.inttoptr %182 : i64 to !llvm.ptr
    %184 = llvm.getelementptr %183[100] : (!llvm.ptr) -> !llvm.ptr, i8
    %185 = llvm.load %184 <alignment = 8> : !llvm.ptr -> i64
    %186 = llvm.load %r54 : !llvm.ptr -> i32
    %187 = llvm.add %186, %1 : i32
    %188 = llvm.load %r2 : !llvm.ptr -> i64
    %189 = llvm.inttoptr %188 : i64 to !llvm.ptr
    %190 = llvm.getelementptr %189[-8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %187, %190 <alignment = 4> : i32, !llvm.ptr
    %191 = llvm.load %r2 : !llvm.ptr -> i64
    %192 = llvm.inttoptr %191 : i64 to !llvm.ptr
    %193 = llvm.getelementptr %192[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %194 = llvm.load %193 <alignment = 4> : !llvm.ptr -> i32
    %195 = llvm.load %r22 : !llvm.ptr -> i64
    %197 = llvm.mul %195, %196 : i64
    %198 = llvm.load %r0 : !llvm.ptr -> i64
    %199 = llvm.add %198, %197 : i64
    %200 = llvm.inttoptr %199 : i64 to !llvm.ptr
    %201 = llvm.getelementptr %200[272] : (!llvm.ptr) -> !llvm.ptr, i8
    %202 = llvm.load %r16 : !llvm.ptr -> i32
    llvm.store %202, %201 <alignment = 4> : i32, !llvm.ptr
    %203 = llvm.getelementptr %201[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %194, %203 <alignment = 4> : i32, !llvm.ptr
    %204 = llvm.inttoptr %199 : i64 to !llvm.ptr
    %205 = llvm.getelementptr %204[280] : (!llvm.ptr) -> !llvm.ptr, i8
    %206 = llvm.load %r20 : !llvm.ptr -> i32
    llvm.store %206, %205 <alignment = 4> : i32, !llvm.ptr
    %207 = llvm.load %r21 : !llvm.ptr -> i32
    %208 = llvm.getelementptr %205[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %207, %208 <alignment = 4> : i32, !llvm.ptr
    %209 = llvm.inttoptr %199 : i64 to !llvm.ptr
    %210 = llvm.getelementptr %209[288] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %173, %210 <alignment = 8> : i64, !llvm.ptr
    %211 = llvm.inttoptr %199 : i64 to !llvm.ptr
    %212 = llvm.getelementptr %211[296] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %177, %212 <alignment = 8> : i64, !llvm.ptr
    %213 = llvm.inttoptr %199 : i64 to !llvm.ptr
    %214 = llvm.getelementptr %213[304] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %181, %214 <alignment = 8> : i64, !llvm.ptr
    %215 = llvm.inttoptr %199 : i64 to !llvm.ptr
    %216 = llvm.getelementptr %215[312] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %185, %216 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^b16
  ^b16:
    %217 = llvm.load %r2 : !llvm.ptr -> i64
    %218 = llvm.inttoptr %217 : i64 to !llvm.ptr
    %219 = llvm.getelementptr %218[-24] : (!llvm.ptr) -> !llvm.ptr, i8
    %220 = llvm.load %219 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %220, %r67 : i32, !llvm.ptr
    llvm.br ^exit
  ^b17:
    llvm.br ^exit
  ^exit:
    %221 = llvm.load %r67 : !llvm.ptr -> i32
    llvm.return %221 : i32
  }
  llvm.func internal @check.lanes_met(%a0: i64, %a1: i32, %a2: i32, %a3: i32) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.mlir.constant(false) : i1
    %20 = llvm.mlir.constant(264 : i32) : i32
    %26 = llvm.mlir.constant(128 : i64) : i64
    %30 = llvm.mlir.constant(32 : i32) : i32
    %45 = llvm.mlir.constant(4 : i32) : i32
    %72 = llvm.mlir.constant(264 : i64) : i64
    %98 = llvm.mlir.constant(2 : i32) : i32
    %99 = llvm.mlir.constant(64 : i32) : i32
    %125 = llvm.mlir.constant(260 : i64) : i64
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r4 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r4 : i32, !llvm.ptr
    %r5 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    %r6 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r6 : i32, !llvm.ptr
    %r7 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r7 : i32, !llvm.ptr
    %r8 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r8 : i32, !llvm.ptr
    %r10 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r10 : i64, !llvm.ptr
    %r11 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r11 : i64, !llvm.ptr
    %r14 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r14 : i64, !llvm.ptr
    %r15 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r15 : i32, !llvm.ptr
    %r16 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r16 : i32, !llvm.ptr
    %r21 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r21 : i32, !llvm.ptr
    %r22 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r22 : i1, !llvm.ptr
    %r23 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r23 : i32, !llvm.ptr
    %r25 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r25 : i64, !llvm.ptr
    %r26 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r26 : i32, !llvm.ptr
    %r34 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r34 : i64, !llvm.ptr
    %r35 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r35 : i32, !llvm.ptr
    %r48 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r48 : i32, !llvm.ptr
    %r51 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r51 : i64, !llvm.ptr
    %r52 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r52 : i32, !llvm.ptr
    %r61 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r61 : i64, !llvm.ptr
    %r62 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r62 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.store %a2, %r5 : i32, !llvm.ptr
    llvm.store %a3, %r7 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %5 = llvm.load %r1 : !llvm.ptr -> i64
    %6 = llvm.load %r3 : !llvm.ptr -> i32
    %7 = llvm.load %r5 : !llvm.ptr -> i32
    llvm.store %7, %r4 : i32, !llvm.ptr
    %8 = llvm.load %r7 : !llvm.ptr -> i32
    llvm.store %8, %r6 : i32, !llvm.ptr
    %9 = llvm.inttoptr %5 : i64 to !llvm.ptr
    %10 = llvm.getelementptr %9[96] : (!llvm.ptr) -> !llvm.ptr, i8
    %11 = llvm.load %10 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %11, %r8 : i32, !llvm.ptr
    %12 = llvm.load %r8 : !llvm.ptr -> i32
    %13 = llvm.add %12, %1 : i32
    %14 = llvm.inttoptr %5 : i64 to !llvm.ptr
    %15 = llvm.getelementptr %14[96] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %13, %15 <alignment = 4> : i32, !llvm.ptr
    %16 = llvm.zext %6 : i32 to i64
    llvm.store %16, %r10 : i64, !llvm.ptr
    %17 = llvm.inttoptr %5 : i64 to !llvm.ptr
    %18 = llvm.getelementptr %17[56] : (!llvm.ptr) -> !llvm.ptr, i8
    %19 = llvm.load %18 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %19, %r11 : i64, !llvm.ptr
    %21 = llvm.zext %6 : i32 to i64
    %22 = llvm.zext %20 : i32 to i64
    %23 = llvm.mul %21, %22 : i64
    %24 = llvm.load %r11 : !llvm.ptr -> i64
    %25 = llvm.add %24, %23 : i64
    %27 = llvm.add %25, %26 : i64
    llvm.store %27, %r14 : i64, !llvm.ptr
    llvm.store %3, %r15 : i32, !llvm.ptr
    %28 = llvm.load %r15 : !llvm.ptr -> i32
    llvm.store %28, %r16 : i32, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %29 = llvm.load %r16 : !llvm.ptr -> i32
    %31 = llvm.icmp "uge" %29, %30 : i32
    %32 = llvm.select %31, %3, %29 : i1, i32
    %33 = llvm.shl %1, %32 : i32
    %34 = llvm.select %31, %3, %33 : i1, i32
    %35 = llvm.load %r6 : !llvm.ptr -> i32
    %36 = llvm.and %34, %35 : i32
    %37 = llvm.icmp "eq" %36, %3 : i32
    %38 = llvm.load %r8 : !llvm.ptr -> i32
    %39 = llvm.select %37, %3, %38 : i1, i32
    llvm.store %39, %r21 : i32, !llvm.ptr
    %40 = llvm.load %r4 : !llvm.ptr -> i32
    %41 = llvm.icmp "eq" %40, %3 : i32
    llvm.store %41, %r22 : i1, !llvm.ptr
    %42 = llvm.load %r15 : !llvm.ptr -> i32
    llvm.store %42, %r23 : i32, !llvm.ptr
    %43 = llvm.load %r22 : !llvm.ptr -> i1
    llvm.cond_br %43, ^b6, ^b2
  ^b2:
    %44 = llvm.load %r16 : !llvm.ptr -> i32
    %46 = llvm.zext %44 : i32 to i64
    %47 = llvm.zext %45 : i32 to i64
    %48 = llvm.mul %46, %47 : i64
    %49 = llvm.load %r14 : !llvm.ptr -> i64
    %50 = llvm.add %49, %48 : i64
    llvm.store %50, %r25 : i64, !llvm.ptr
    llvm.store %3, %r26 : i32, !llvm.ptr
    %51 = llvm.load %r26 : !llvm.ptr -> i32
    llvm.store %51, %r23 : i32, !llvm.ptr
    llvm.br ^b3
  ^b3:
    %52 = llvm.load %r26 : !llvm.ptr -> i32
    %53 = llvm.icmp "uge" %52, %30 : i32
    %54 = llvm.select %53, %3, %52 : i1, i32
    %55 = llvm.shl %1, %54 : i32
    %56 = llvm.select %53, %3, %55 : i1, i32
    %57 = llvm.load %r6 : !llvm.ptr -> i32
    %58 = llvm.and %56, %57 : i32
    %59 = llvm.icmp "eq" %58, %3 : i32
    llvm.cond_br %59, ^b5, ^b4
  ^b4:
    %60 = llvm.load %r25 : !llvm.ptr -> i64
    %61 = llvm.inttoptr %60 : i64 to !llvm.ptr
    %62 = llvm.getelementptr %61[-128] : (!llvm.ptr) -> !llvm.ptr, i8
    %63 = llvm.load %62 <alignment = 4> : !llvm.ptr -> i32
    %64 = llvm.load %r23 : !llvm.ptr -> i32
    %65 = llvm.call_intrinsic "llvm.umax"(%64, %63) : (i32, i32) -> i32
    llvm.store %65, %r23 : i32, !llvm.ptr
    %66 = llvm.load %r25 : !llvm.ptr -> i64
    %67 = llvm.inttoptr %66 : i64 to !llvm.ptr
    %68 = llvm.load %67 <alignment = 4> : !llvm.ptr -> i32
    %69 = llvm.load %r21 : !llvm.ptr -> i32
    %70 = llvm.call_intrinsic "llvm.umax"(%69, %68) : (i32, i32) -> i32
    llvm.store %70, %r21 : i32, !llvm.ptr
    llvm.br ^b5
  ^b5:
    %71 = llvm.load %r25 : !llvm.ptr -> i64
    %73 = llvm.add %71, %72 : i64
    llvm.store %73, %r25 : i64, !llvm.ptr
    %74 = llvm.load %r26 : !llvm.ptr -> i32
    %75 = llvm.add %74, %1 : i32
    llvm.store %75, %r26 : i32, !llvm.ptr
    %76 = llvm.load %r26 : !llvm.ptr -> i32
    %77 = llvm.load %r4 : !llvm.ptr -> i32
    %78 = llvm.icmp "ult" %76, %77 : i32
    llvm.cond_br %78, ^b3, ^b6
  ^b6:
    %79 = llvm.load %r22 : !llvm.ptr -> i1
    llvm.cond_br %79, ^b11, ^b7
  ^b7:
    %80 = llvm.load %r16 : !llvm.ptr -> i32
    %81 = llvm.zext %80 : i32 to i64
    llvm.store %81, %r34 : i64, !llvm.ptr
    llvm.store %3, %r35 : i32, !llvm.ptr
    llvm.br ^b8
  ^b8:
    %82 = llvm.load %r35 : !llvm.ptr -> i32
    %83 = llvm.icmp "uge" %82, %30 : i32
    %84 = llvm.select %83, %3, %82 : i1, i32
    %85 = llvm.shl %1, %84 : i32
    %86 = llvm.select %83, %3, %85 : i1, i32
    %87 = llvm.load %r6 : !llvm.ptr -> i32
    %88 = llvm.and %86, %87 : i32
    %89 = llvm.icmp "eq" %88, %3 : i32
    llvm.cond_br %89, ^b10, ^b9
  ^b9:
    %90 = llvm.load %r35 : !llvm.ptr -> i32
    %91 = llvm.zext %90 : i32 to i64
    %92 = llvm.load %r10 : !llvm.ptr -> i64
    %93 = llvm.add %91, %92 : i64
    %94 = llvm.mul %93, %72 : i64
    %95 = llvm.load %r11 : !llvm.ptr -> i64
    %96 = llvm.add %95, %94 : i64
    %97 = llvm.load %r34 : !llvm.ptr -> i64
    %100 = llvm.icmp "uge" %98, %99 : i32
    %101 = llvm.select %100, %3, %98 : i1, i32
    %102 = llvm.zext %101 : i32 to i64
    %103 = llvm.shl %97, %102 : i64
    %104 = llvm.select %100, %2, %103 : i1, i64
    %105 = llvm.add %96, %104 : i64
    %106 = llvm.inttoptr %105 : i64 to !llvm.ptr
    %107 = llvm.load %r23 : !llvm.ptr -> i32
    llvm.store %107, %106 <alignment = 4> : i32, !llvm.ptr
    %108 = llvm.inttoptr %105 : i64 to !llvm.ptr
    %109 = llvm.getelementptr %108[128] : (!llvm.ptr) -> !llvm.ptr, i8
    %110 = llvm.load %r21 : !llvm.ptr -> i32
    llvm.store %110, %109 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b10
  ^b10:
    %111 = llvm.load %r35 : !llvm.ptr -> i32
    %112 = llvm.add %111, %1 : i32
    llvm.store %112, %r35 : i32, !llvm.ptr
    %113 = llvm.load %r35 : !llvm.ptr -> i32
    %114 = llvm.load %r4 : !llvm.ptr -> i32
    %115 = llvm.icmp "ult" %113, %114 : i32
    llvm.cond_br %115, ^b8, ^b11
  ^b11:
    %116 = llvm.load %r16 : !llvm.ptr -> i32
    %117 = llvm.add %116, %1 : i32
    llvm.store %117, %r16 : i32, !llvm.ptr
    %118 = llvm.load %r16 : !llvm.ptr -> i32
    %119 = llvm.icmp "ult" %118, %30 : i32
    llvm.cond_br %119, ^b1, ^b12
  ^b12:
    llvm.store %3, %r48 : i32, !llvm.ptr
    %120 = llvm.load %r22 : !llvm.ptr -> i1
    llvm.cond_br %120, ^b17, ^b13
  ^b13:
    %121 = llvm.load %r10 : !llvm.ptr -> i64
    %122 = llvm.mul %121, %72 : i64
    %123 = llvm.load %r11 : !llvm.ptr -> i64
    %124 = llvm.add %123, %122 : i64
    %126 = llvm.add %124, %125 : i64
    llvm.store %126, %r51 : i64, !llvm.ptr
    llvm.store %3, %r52 : i32, !llvm.ptr
    %127 = llvm.load %r52 : !llvm.ptr -> i32
    llvm.store %127, %r48 : i32, !llvm.ptr
    llvm.br ^b14
  ^b14:
    %128 = llvm.load %r52 : !llvm.ptr -> i32
    %129 = llvm.icmp "uge" %128, %30 : i32
    %130 = llvm.select %129, %3, %128 : i1, i32
    %131 = llvm.shl %1, %130 : i32
    %132 = llvm.select %129, %3, %131 : i1, i32
    %133 = llvm.load %r6 : !llvm.ptr -> i32
    %134 = llvm.and %132, %133 : i32
    %135 = llvm.icmp "eq" %134, %3 : i32
    llvm.cond_br %135, ^b16, ^b15
  ^b15:
    %136 = llvm.load %r51 : !llvm.ptr -> i64
    %137 = llvm.inttoptr %136 : i64 to !llvm.ptr
    %138 = llvm.load %137 <alignment = 4> : !llvm.ptr -> i32
    %139 = llvm.load %r48 : !llvm.ptr -> i32
    %140 = llvm.call_intrinsic "llvm.umax"(%139, %138) : (i32, i32) -> i32
    llvm.store %140, %r48 : i32, !llvm.ptr
    llvm.br ^b16
  ^b16:
    %141 = llvm.load %r51 : !llvm.ptr -> i64
    %142 = llvm.add %141, %72 : i64
    llvm.store %142, %r51 : i64, !llvm.ptr
    %143 = llvm.load %r52 : !llvm.ptr -> i32
    %144 = llvm.add %143, %1 : i32
    llvm.store %144, %r52 : i32, !llvm.ptr
    %145 = llvm.load %r52 : !llvm.ptr -> i32
    %146 = llvm.load %r4 : !llvm.ptr -> i32
    %147 = llvm.icmp "ult" %145, %146 : i32
    llvm.cond_br %147, ^b14, ^b17
  ^b17:
    %148 = llvm.load %r22 : !llvm.ptr -> i1
    llvm.cond_br %148, ^b22, ^b18
  ^b18:
    %149 = llvm.load %r10 : !llvm.ptr -> i64
    %150 = llvm.mul %149, %72 : i64
    %151 = llvm.load %r11 : !llvm.ptr -> i64
    %152 = llvm.add %151, %150 : i64
    %153 = llvm.add %152, %125 : i64
    llvm.store %153, %r61 : i64, !llvm.ptr
    llvm.store %3, %r62 : i32, !llvm.ptr
    llvm.br ^b19
  ^b19:
    %154 = llvm.load %r62 : !llvm.ptr -> i32
    %155 = llvm.icmp "uge" %154, %30 : i32
    %156 = llvm.select %155, %3, %154 : i1, i32
    %157 = llvm.shl %1, %156 : i32
    %158 = llvm.select %155, %3, %157 : i1, i32
    %159 = llvm.load %r6 : !llvm.ptr -> i32
    %160 = llvm.and %158, %159 : i32
    %161 = llvm.icmp "eq" %160, %3 : i32
    llvm.cond_br %161, ^b21, ^b20
  ^b20:
    %162 = llvm.load %r61 : !llvm.ptr -> i64
    %163 = llvm.inttoptr %162 : i64 to !llvm.ptr
    %164 = llvm.load %r48 : !llvm.ptr -> i32
    llvm.store %164, %163 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b21
  ^b21:
    %165 = llvm.load %r62 : !llvm.ptr -> i32
    %166 = llvm.add %165, %1 : i32
    llvm.store %166, %r62 : i32, !llvm.ptr
    %167 = llvm.load %r61 : !llvm.ptr -> i64
    %168 = llvm.add %167, %72 : i64
    llvm.store %168, %r61 : i64, !llvm.ptr
    %169 = llvm.load %r62 : !llvm.ptr -> i32
    %170 = llvm.load %r4 : !llvm.ptr -> i32
    %171 = llvm.icmp "ult" %169, %170 : i32
    llvm.cond_br %171, ^b19, ^b22
  ^b22:
    llvm.br ^exit
  ^b23:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.come(%a0: i64, %a1: i32, %a2: i32) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %21 = llvm.mlir.constant(264 : i32) : i32
    %27 = llvm.mlir.constant(128 : i32) : i32
    %33 = llvm.mlir.constant(656 : i64) : i64
    %45 = llvm.mlir.constant(4 : i64) : i64
    %52 = llvm.mlir.constant(32 : i32) : i32
    %55 = llvm.mlir.constant(5 : i32) : i32
    %61 = llvm.mlir.constant(7 : i32) : i32
    %62 = llvm.mlir.constant(64 : i32) : i32
    %70 = llvm.mlir.constant(4 : i32) : i32
    %r0 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i64, !llvm.ptr
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r2 : i32, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r5 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    %r7 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r7 : i32, !llvm.ptr
    %r10 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r10 : i64, !llvm.ptr
    %r11 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r11 : i64, !llvm.ptr
    %r14 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r14 : i64, !llvm.ptr
    %r15 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r15 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.store %a2, %r5 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    llvm.store %4, %r0 : i64, !llvm.ptr
    %5 = llvm.load %r3 : !llvm.ptr -> i32
    llvm.store %5, %r2 : i32, !llvm.ptr
    %6 = llvm.load %r5 : !llvm.ptr -> i32
    %7 = llvm.load %r0 : !llvm.ptr -> i64
    %8 = llvm.inttoptr %7 : i64 to !llvm.ptr
    %9 = llvm.getelementptr %8[56] : (!llvm.ptr) -> !llvm.ptr, i8
    %10 = llvm.load %9 <alignment = 8> : !llvm.ptr -> i64
    %11 = llvm.load %r0 : !llvm.ptr -> i64
    %12 = llvm.inttoptr %11 : i64 to !llvm.ptr
    %13 = llvm.getelementptr %12[96] : (!llvm.ptr) -> !llvm.ptr, i8
    %14 = llvm.load %13 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %14, %r7 : i32, !llvm.ptr
    %15 = llvm.load %r7 : !llvm.ptr -> i32
    %16 = llvm.add %15, %1 : i32
    %17 = llvm.load %r0 : !llvm.ptr -> i64
    %18 = llvm.inttoptr %17 : i64 to !llvm.ptr
    %19 = llvm.getelementptr %18[96] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %16, %19 <alignment = 4> : i32, !llvm.ptr
    %20 = llvm.load %r2 : !llvm.ptr -> i32
    %22 = llvm.zext %20 : i32 to i64
    %23 = llvm.zext %21 : i32 to i64
    %24 = llvm.mul %22, %23 : i64
    %25 = llvm.add %10, %24 : i64
    llvm.store %25, %r10 : i64, !llvm.ptr
    %26 = llvm.zext %6 : i32 to i64
    llvm.store %26, %r11 : i64, !llvm.ptr
    %28 = llvm.zext %6 : i32 to i64
    %29 = llvm.zext %27 : i32 to i64
    %30 = llvm.mul %28, %29 : i64
    %31 = llvm.load %r0 : !llvm.ptr -> i64
    %32 = llvm.add %31, %30 : i64
    %34 = llvm.add %32, %33 : i64
    llvm.store %34, %r14 : i64, !llvm.ptr
    llvm.store %3, %r15 : i32, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %35 = llvm.load %r10 : !llvm.ptr -> i64
    %36 = llvm.inttoptr %35 : i64 to !llvm.ptr
    %37 = llvm.load %36 <alignment = 4> : !llvm.ptr -> i32
    %38 = llvm.load %r14 : !llvm.ptr -> i64
    %39 = llvm.inttoptr %38 : i64 to !llvm.ptr
    %40 = llvm.load %39 <alignment = 4> : !llvm.ptr -> i32
    %41 = llvm.call_intrinsic "llvm.umax"(%40, %37) : (i32, i32) -> i32
    %42 = llvm.load %r14 : !llvm.ptr -> i64
    %43 = llvm.inttoptr %42 : i64 to !llvm.ptr
    llvm.store %41, %43 <alignment = 4> : i32, !llvm.ptr
    %44 = llvm.load %r10 : !llvm.ptr -> i64
    %46 = llvm.add %44, %45 : i64
    llvm.store %46, %r10 : i64, !llvm.ptr
    %47 = llvm.load %r14 : !llvm.ptr -> i64
    %48 = llvm.add %47, %45 : i64
    llvm.store %48, %r14 : i64, !llvm.ptr
    %49 = llvm.load %r15 : !llvm.ptr -> i32
    %50 = llvm.add %49, %1 : i32
    llvm.store %50, %r15 : i32, !llvm.ptr
    %51 = llvm.load %r15 : !llvm.ptr -> i32
    %53 = llvm.icmp "ne" %51, %52 : i32
    llvm.cond_br %53, ^b1, ^b2
  ^b2:
    %54 = llvm.load %r2 : !llvm.ptr -> i32
    %56 = llvm.icmp "uge" %55, %52 : i32
    %57 = llvm.select %56, %3, %55 : i1, i32
    %58 = llvm.lshr %54, %57 : i32
    %59 = llvm.select %56, %3, %58 : i1, i32
    %60 = llvm.load %r11 : !llvm.ptr -> i64
    %63 = llvm.icmp "uge" %61, %62 : i32
    %64 = llvm.select %63, %3, %61 : i1, i32
    %65 = llvm.zext %64 : i32 to i64
    %66 = llvm.shl %60, %65 : i64
    %67 = llvm.select %63, %2, %66 : i1, i64
    %68 = llvm.load %r0 : !llvm.ptr -> i64
    %69 = llvm.add %68, %67 : i64
    %71 = llvm.zext %59 : i32 to i64
    %72 = llvm.zext %70 : i32 to i64
    %73 = llvm.mul %71, %72 : i64
    %74 = llvm.add %69, %73 : i64
    %75 = llvm.inttoptr %74 : i64 to !llvm.ptr
    %76 = llvm.getelementptr %75[656] : (!llvm.ptr) -> !llvm.ptr, i8
    %77 = llvm.load %r7 : !llvm.ptr -> i32
    llvm.store %77, %76 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^exit
  ^b3:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.leave(%a0: i64, %a1: i32, %a2: i32) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %7 = llvm.mlir.constant(128 : i32) : i32
    %12 = llvm.mlir.constant(656 : i64) : i64
    %17 = llvm.mlir.constant(264 : i32) : i32
    %32 = llvm.mlir.constant(4 : i64) : i64
    %39 = llvm.mlir.constant(32 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r5 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    %r8 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r8 : i64, !llvm.ptr
    %r11 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r11 : i64, !llvm.ptr
    %r12 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r12 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.store %a2, %r5 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.load %r3 : !llvm.ptr -> i32
    %6 = llvm.load %r5 : !llvm.ptr -> i32
    %8 = llvm.zext %6 : i32 to i64
    %9 = llvm.zext %7 : i32 to i64
    %10 = llvm.mul %8, %9 : i64
    %11 = llvm.add %4, %10 : i64
    %13 = llvm.add %11, %12 : i64
    llvm.store %13, %r8 : i64, !llvm.ptr
    %14 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %15 = llvm.getelementptr %14[56] : (!llvm.ptr) -> !llvm.ptr, i8
    %16 = llvm.load %15 <alignment = 8> : !llvm.ptr -> i64
    %18 = llvm.zext %5 : i32 to i64
    %19 = llvm.zext %17 : i32 to i64
    %20 = llvm.mul %18, %19 : i64
    %21 = llvm.add %16, %20 : i64
    llvm.store %21, %r11 : i64, !llvm.ptr
    llvm.store %3, %r12 : i32, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %22 = llvm.load %r8 : !llvm.ptr -> i64
    %23 = llvm.inttoptr %22 : i64 to !llvm.ptr
    %24 = llvm.load %23 <alignment = 4> : !llvm.ptr -> i32
    %25 = llvm.load %r11 : !llvm.ptr -> i64
    %26 = llvm.inttoptr %25 : i64 to !llvm.ptr
    %27 = llvm.load %26 <alignment = 4> : !llvm.ptr -> i32
    %28 = llvm.call_intrinsic "llvm.umax"(%27, %24) : (i32, i32) -> i32
    %29 = llvm.load %r11 : !llvm.ptr -> i64
    %30 = llvm.inttoptr %29 : i64 to !llvm.ptr
    llvm.store %28, %30 <alignment = 4> : i32, !llvm.ptr
    %31 = llvm.load %r8 : !llvm.ptr -> i64
    %33 = llvm.add %31, %32 : i64
    llvm.store %33, %r8 : i64, !llvm.ptr
    %34 = llvm.load %r11 : !llvm.ptr -> i64
    %35 = llvm.add %34, %32 : i64
    llvm.store %35, %r11 : i64, !llvm.ptr
    %36 = llvm.load %r12 : !llvm.ptr -> i32
    %37 = llvm.add %36, %1 : i32
    llvm.store %37, %r12 : i32, !llvm.ptr
    %38 = llvm.load %r12 : !llvm.ptr -> i32
    %40 = llvm.icmp "ne" %38, %39 : i32
    llvm.cond_br %40, ^b1, ^b2
  ^b2:
    llvm.br ^exit
  ^b3:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.clear(%a0: i64, %a1: i32) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %6 = llvm.mlir.constant(656 : i64) : i64
    %9 = llvm.mlir.constant(32 : i32) : i32
    %21 = llvm.mlir.constant(2 : i32) : i32
    %22 = llvm.mlir.constant(64 : i32) : i32
    %35 = llvm.mlir.constant(4 : i64) : i64
    %44 = llvm.mlir.constant(16 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r2 : i32, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    %r12 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r12 : i64, !llvm.ptr
    %r13 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r13 : i32, !llvm.ptr
    %r14 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r14 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.load %r3 : !llvm.ptr -> i32
    llvm.store %5, %r2 : i32, !llvm.ptr
    %7 = llvm.add %4, %6 : i64
    llvm.store %7, %r4 : i64, !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %8 = llvm.load %r5 : !llvm.ptr -> i32
    %10 = llvm.icmp "uge" %8, %9 : i32
    %11 = llvm.select %10, %3, %8 : i1, i32
    %12 = llvm.shl %1, %11 : i32
    %13 = llvm.select %10, %3, %12 : i1, i32
    %14 = llvm.load %r2 : !llvm.ptr -> i32
    %15 = llvm.and %13, %14 : i32
    %16 = llvm.icmp "eq" %15, %3 : i32
    llvm.cond_br %16, ^b4, ^b2
  ^b2:
    %17 = llvm.load %r5 : !llvm.ptr -> i32
    %18 = llvm.zext %17 : i32 to i64
    %19 = llvm.zext %9 : i32 to i64
    %20 = llvm.mul %18, %19 : i64
    %23 = llvm.icmp "uge" %21, %22 : i32
    %24 = llvm.select %23, %3, %21 : i1, i32
    %25 = llvm.zext %24 : i32 to i64
    %26 = llvm.shl %20, %25 : i64
    %27 = llvm.select %23, %2, %26 : i1, i64
    %28 = llvm.load %r4 : !llvm.ptr -> i64
    %29 = llvm.add %28, %27 : i64
    llvm.store %29, %r12 : i64, !llvm.ptr
    llvm.store %3, %r13 : i32, !llvm.ptr
    %30 = llvm.load %r13 : !llvm.ptr -> i32
    llvm.store %30, %r14 : i32, !llvm.ptr
    llvm.br ^b3
  ^b3:
    %31 = llvm.load %r12 : !llvm.ptr -> i64
    %32 = llvm.inttoptr %31 : i64 to !llvm.ptr
    %33 = llvm.load %r13 : !llvm.ptr -> i32
    llvm.store %33, %32 <alignment = 4> : i32, !llvm.ptr
    %34 = llvm.load %r12 : !llvm.ptr -> i64
    %36 = llvm.add %34, %35 : i64
    llvm.store %36, %r12 : i64, !llvm.ptr
    %37 = llvm.load %r14 : !llvm.ptr -> i32
    %38 = llvm.add %37, %1 : i32
    llvm.store %38, %r14 : i32, !llvm.ptr
    %39 = llvm.load %r14 : !llvm.ptr -> i32
    %40 = llvm.icmp "ne" %39, %9 : i32
    llvm.cond_br %40, ^b3, ^b4
  ^b4:
    %41 = llvm.load %r5 : !llvm.ptr -> i32
    %42 = llvm.add %41, %1 : i32
    llvm.store %42, %r5 : i32, !llvm.ptr
    %43 = llvm.load %r5 : !llvm.ptr -> i32
    %45 = llvm.icmp "ult" %43, %44 : i32
    llvm.cond_br %45, ^b1, ^b5
  ^b5:
    llvm.br ^exit
  ^b6:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.all_met(%a0: i64) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %3 = llvm.load %r1 : !llvm.ptr -> i64
    %4 = llvm.inttoptr %3 : i64 to !llvm.ptr
    %5 = llvm.getelementptr %4[96] : (!llvm.ptr) -> !llvm.ptr, i8
    %6 = llvm.load %5 <alignment = 4> : !llvm.ptr -> i32
    %7 = llvm.add %6, %1 : i32
    %8 = llvm.inttoptr %3 : i64 to !llvm.ptr
    %9 = llvm.getelementptr %8[96] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %7, %9 <alignment = 4> : i32, !llvm.ptr
    %10 = llvm.getelementptr %9[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %6, %10 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^exit
  ^b1:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.fence(%a0: i64, %a1: i32) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %15 = llvm.mlir.constant(264 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.load %r3 : !llvm.ptr -> i32
    %6 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %7 = llvm.getelementptr %6[56] : (!llvm.ptr) -> !llvm.ptr, i8
    %8 = llvm.load %7 <alignment = 8> : !llvm.ptr -> i64
    %9 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %10 = llvm.getelementptr %9[96] : (!llvm.ptr) -> !llvm.ptr, i8
    %11 = llvm.load %10 <alignment = 4> : !llvm.ptr -> i32
    %12 = llvm.add %11, %1 : i32
    %13 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %14 = llvm.getelementptr %13[96] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %12, %14 <alignment = 4> : i32, !llvm.ptr
    %16 = llvm.zext %5 : i32 to i64
    %17 = llvm.zext %15 : i32 to i64
    %18 = llvm.mul %16, %17 : i64
    %19 = llvm.add %8, %18 : i64
    %20 = llvm.inttoptr %19 : i64 to !llvm.ptr
    %21 = llvm.getelementptr %20[260] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %11, %21 <alignment = 4> : i32, !llvm.ptr
    %22 = llvm.inttoptr %19 : i64 to !llvm.ptr
    %23 = llvm.getelementptr %22[256] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %11, %23 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^exit
  ^b1:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.use(%a0: i64, %a1: i32, %a2: i64) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %10 = llvm.mlir.constant(16 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.store %a2, %r5 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.load %r3 : !llvm.ptr -> i32
    %6 = llvm.load %r5 : !llvm.ptr -> i64
    %7 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %8 = llvm.getelementptr %7[72] : (!llvm.ptr) -> !llvm.ptr, i8
    %9 = llvm.load %8 <alignment = 8> : !llvm.ptr -> i64
    %11 = llvm.zext %5 : i32 to i64
    %12 = llvm.zext %10 : i32 to i64
    %13 = llvm.mul %11, %12 : i64
    %14 = llvm.add %9, %13 : i64
    %15 = llvm.inttoptr %14 : i64 to !llvm.ptr
    %16 = llvm.load %15 <alignment = 8> : !llvm.ptr -> i64
    %17 = llvm.or %16, %6 : i64
    %18 = llvm.inttoptr %14 : i64 to !llvm.ptr
    llvm.store %17, %18 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^exit
  ^b1:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.access(%a0: i64, %a1: i32, %a2: i32, %a3: i64, %a4: i32, %a5: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.mlir.constant(false) : i1
    %5 = llvm.mlir.constant(0 : i16) : i16
    %19 = llvm.mlir.constant(116 : i64) : i64
    %39 = llvm.mlir.constant(true) : i1
    %67 = llvm.mlir.constant(14 : i32) : i32
    %79 = llvm.mlir.constant(15 : i32) : i32
    %100 = llvm.mlir.constant(12 : i32) : i32
    %101 = llvm.mlir.constant(32 : i32) : i32
    %108 = llvm.mlir.constant(36 : i32) : i32
    %109 = llvm.mlir.constant(64 : i32) : i32
    %118 = llvm.mlir.constant(8 : i32) : i32
    %127 = llvm.mlir.constant(48 : i32) : i32
    %176 = llvm.mlir.constant(7 : i32) : i32
    %206 = llvm.mlir.constant(48 : i64) : i64
    %234 = llvm.mlir.constant(24 : i32) : i32
    %243 = llvm.mlir.constant(65536 : i64) : i64
    %245 = llvm.mlir.constant(3 : i32) : i32
    %254 = llvm.mlir.constant(4 : i32) : i32
    %265 = llvm.mlir.constant(33554432 : i32) : i32
    %309 = llvm.mlir.constant(2 : i32) : i32
    %327 = llvm.mlir.constant(16 : i64) : i64
    %445 = llvm.mlir.constant(11 : i32) : i32
    %478 = llvm.mlir.constant(-1 : i32) : i32
    %532 = llvm.mlir.constant(24 : i64) : i64
    %538 = llvm.mlir.constant(28 : i64) : i64
    %560 = llvm.mlir.constant(1 : i64) : i64
    %562 = llvm.mlir.constant(8 : i64) : i64
    %574 = llvm.mlir.constant(5 : i32) : i32
    %580 = llvm.mlir.constant(576460752303423480 : i64) : i64
    %589 = llvm.mlir.constant(6160 : i64) : i64
    %612 = llvm.mlir.constant(255 : i64) : i64
    %626 = llvm.mlir.constant(1024 : i32) : i32
    %636 = llvm.mlir.constant(2048 : i32) : i32
    %661 = llvm.mlir.constant(8 : i16) : i16
    %729 = llvm.mlir.constant(10 : i32) : i32
    %765 = llvm.mlir.constant(1023 : i32) : i32
    %770 = llvm.mlir.constant(1 : i16) : i16
    %789 = llvm.mlir.constant(264 : i64) : i64
    %803 = llvm.mlir.constant(31 : i32) : i32
    %811 = llvm.mlir.constant(124 : i64) : i64
    %821 = llvm.mlir.constant(264 : i32) : i32
    %846 = llvm.mlir.constant(33 : i32) : i32
    %897 = llvm.mlir.constant(16 : i32) : i32
    %984 = llvm.mlir.constant(3040 : i32) : i32
    %r0 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i64, !llvm.ptr
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r2 : i32, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r4 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r4 : i32, !llvm.ptr
    %r5 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    %r6 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r6 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r8 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r8 : i32, !llvm.ptr
    %r9 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r9 : i32, !llvm.ptr
    %r10 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r10 : i64, !llvm.ptr
    %r11 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r11 : i64, !llvm.ptr
    %r12 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r12 : i64, !llvm.ptr
    %r15 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r15 : i32, !llvm.ptr
    %r16 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r16 : i32, !llvm.ptr
    %r18 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r18 : i1, !llvm.ptr
    %r19 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r19 : i64, !llvm.ptr
    %r20 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r20 : i32, !llvm.ptr
    %r28 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r28 : i32, !llvm.ptr
    %r29 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r29 : i32, !llvm.ptr
    %r32 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r32 : i32, !llvm.ptr
    %r33 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r33 : i32, !llvm.ptr
    %r34 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r34 : i64, !llvm.ptr
    %r36 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r36 : i32, !llvm.ptr
    %r46 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r46 : i64, !llvm.ptr
    %r66 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r66 : i32, !llvm.ptr
    %r79 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r79 : i32, !llvm.ptr
    %r81 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r81 : i64, !llvm.ptr
    %r83 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r83 : i64, !llvm.ptr
    %r84 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r84 : i32, !llvm.ptr
    %r86 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r86 : i32, !llvm.ptr
    %r87 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r87 : i32, !llvm.ptr
    %r88 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r88 : i64, !llvm.ptr
    %r89 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r89 : i64, !llvm.ptr
    %r90 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r90 : i64, !llvm.ptr
    %r91 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r91 : i64, !llvm.ptr
    %r92 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r92 : i64, !llvm.ptr
    %r93 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r93 : i32, !llvm.ptr
    %r99 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r99 : i32, !llvm.ptr
    %r100 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r100 : i1, !llvm.ptr
    %r101 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r101 : i64, !llvm.ptr
    %r102 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r102 : i64, !llvm.ptr
    %r103 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r103 : i64, !llvm.ptr
    %r104 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r104 : i64, !llvm.ptr
    %r106 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r106 : i64, !llvm.ptr
    %r108 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r108 : i64, !llvm.ptr
    %r109 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r109 : i32, !llvm.ptr
    %r114 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r114 : i64, !llvm.ptr
    %r115 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r115 : i64, !llvm.ptr
    %r125 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r125 : i32, !llvm.ptr
    %r127 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r127 : i64, !llvm.ptr
    %r128 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r128 : i32, !llvm.ptr
    %r134 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r134 : i64, !llvm.ptr
    %r135 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r135 : i1, !llvm.ptr
    %r136 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r136 : i64, !llvm.ptr
    %r137 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r137 : i64, !llvm.ptr
    %r138 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r138 : i64, !llvm.ptr
    %r150 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r150 : i32, !llvm.ptr
    %r151 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r151 : i1, !llvm.ptr
    %r154 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r154 : i64, !llvm.ptr
    %r156 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r156 : i64, !llvm.ptr
    %r159 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r159 : i64, !llvm.ptr
    %r167 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r167 : i64, !llvm.ptr
    %r168 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r168 : i64, !llvm.ptr
    %r170 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r170 : i64, !llvm.ptr
    %r176 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r176 : i32, !llvm.ptr
    %r182 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r182 : i32, !llvm.ptr
    %r183 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r183 : i32, !llvm.ptr
    %r184 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r184 : i32, !llvm.ptr
    %r186 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r186 : i1, !llvm.ptr
    %r187 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r187 : i32, !llvm.ptr
    %r189 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r189 : i64, !llvm.ptr
    %r190 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r190 : i64, !llvm.ptr
    %r191 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r191 : i1, !llvm.ptr
    %r195 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r195 : i32, !llvm.ptr
    %r198 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r198 : i32, !llvm.ptr
    %r208 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r208 : i32, !llvm.ptr
    %r209 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r209 : i64, !llvm.ptr
    %r210 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r210 : i32, !llvm.ptr
    %r211 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r211 : i32, !llvm.ptr
    %r214 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %5, %r214 : i16, !llvm.ptr
    %r232 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r232 : i32, !llvm.ptr
    %r234 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %5, %r234 : i16, !llvm.ptr
    %r237 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r237 : i64, !llvm.ptr
    %r241 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r241 : i64, !llvm.ptr
    %r244 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r244 : i32, !llvm.ptr
    %r272 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r272 : i32, !llvm.ptr
    %r273 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r273 : i1, !llvm.ptr
    %r275 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r275 : i32, !llvm.ptr
    %r277 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r277 : i32, !llvm.ptr
    %r287 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r287 : i32, !llvm.ptr
    %r292 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r292 : i32, !llvm.ptr
    %r303 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r303 : i32, !llvm.ptr
    %r312 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r312 : i32, !llvm.ptr
    %r314 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r314 : i64, !llvm.ptr
    %6 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %7 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %8 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %9 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %10 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %11 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.store %a2, %r5 : i32, !llvm.ptr
    llvm.store %a3, %r7 : i64, !llvm.ptr
    llvm.store %a4, %r9 : i32, !llvm.ptr
    llvm.store %a5, %r11 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %12 = llvm.load %r1 : !llvm.ptr -> i64
    llvm.store %12, %r0 : i64, !llvm.ptr
    %13 = llvm.load %r3 : !llvm.ptr -> i32
    llvm.store %13, %r2 : i32, !llvm.ptr
    %14 = llvm.load %r5 : !llvm.ptr -> i32
    llvm.store %14, %r4 : i32, !llvm.ptr
    %15 = llvm.load %r7 : !llvm.ptr -> i64
    llvm.store %15, %r6 : i64, !llvm.ptr
    %16 = llvm.load %r9 : !llvm.ptr -> i32
    llvm.store %16, %r8 : i32, !llvm.ptr
    %17 = llvm.load %r11 : !llvm.ptr -> i64
    llvm.store %17, %r10 : i64, !llvm.ptr
    %18 = llvm.load %r0 : !llvm.ptr -> i64
    %20 = llvm.add %18, %19 : i64
    llvm.store %20, %r12 : i64, !llvm.ptr
    %21 = llvm.load %r0 : !llvm.ptr -> i64
    %22 = llvm.inttoptr %21 : i64 to !llvm.ptr
    %23 = llvm.getelementptr %22[116] : (!llvm.ptr) -> !llvm.ptr, i8
    %24 = llvm.load %23 <alignment = 4> : !llvm.ptr -> i32
    %25 = llvm.icmp "eq" %24, %3 : i32
    llvm.cond_br %25, ^b16, ^b1
  ^b1:
    llvm.store %3, %r15 : i32, !llvm.ptr
    %26 = llvm.load %r12 : !llvm.ptr -> i64
    %27 = llvm.inttoptr %26 : i64 to !llvm.ptr
    %28 = llvm.load %r15 : !llvm.ptr -> i32
    llvm.store %28, %27 <alignment = 4> : i32, !llvm.ptr
    %29 = llvm.load %r12 : !llvm.ptr -> i64
    %30 = llvm.inttoptr %29 : i64 to !llvm.ptr
    %31 = llvm.getelementptr %30[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %32 = llvm.load %31 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %32, %r16 : i32, !llvm.ptr
    %33 = llvm.load %r16 : !llvm.ptr -> i32
    %34 = llvm.icmp "eq" %33, %3 : i32
    llvm.store %4, %r18 : i1, !llvm.ptr
    llvm.cond_br %34, ^b4, ^b2
  ^b2:
    %35 = llvm.load %r12 : !llvm.ptr -> i64
    %36 = llvm.inttoptr %35 : i64 to !llvm.ptr
    %37 = llvm.getelementptr %36[44] : (!llvm.ptr) -> !llvm.ptr, i8
    %38 = llvm.load %37 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %38, %r19 : i64, !llvm.ptr
    llvm.store %39, %r18 : i1, !llvm.ptr
    %40 = llvm.load %r15 : !llvm.ptr -> i32
    llvm.store %40, %r20 : i32, !llvm.ptr
    llvm.br ^b3
  ^b3:
    %41 = llvm.load %r20 : !llvm.ptr -> i32
    %42 = llvm.zext %41 : i32 to i64
    %43 = llvm.load %r0 : !llvm.ptr -> i64
    %44 = llvm.add %43, %42 : i64
    %45 = llvm.load %r19 : !llvm.ptr -> i64
    %46 = llvm.add %45, %42 : i64
    %47 = llvm.inttoptr %46 : i64 to !llvm.ptr
    %48 = llvm.load %47 <alignment = 1> : !llvm.ptr -> i8
    %49 = llvm.zext %48 : i8 to i16
    %50 = llvm.inttoptr %44 : i64 to !llvm.ptr
    %51 = llvm.getelementptr %50[124] : (!llvm.ptr) -> !llvm.ptr, i8
    %52 = llvm.load %51 <alignment = 1> : !llvm.ptr -> i8
    %53 = llvm.zext %52 : i8 to i16
    %54 = llvm.icmp "eq" %53, %49 : i16
    %55 = llvm.load %r18 : !llvm.ptr -> i1
    %56 = llvm.and %55, %54 : i1
    llvm.store %56, %r18 : i1, !llvm.ptr
    %57 = llvm.load %r20 : !llvm.ptr -> i32
    %58 = llvm.add %57, %1 : i32
    llvm.store %58, %r20 : i32, !llvm.ptr
    %59 = llvm.load %r20 : !llvm.ptr -> i32
    %60 = llvm.load %r16 : !llvm.ptr -> i32
    %61 = llvm.icmp "ult" %59, %60 : i32
    llvm.cond_br %61, ^b3, ^b4
  ^b4:
    %62 = llvm.load %r12 : !llvm.ptr -> i64
    %63 = llvm.inttoptr %62 : i64 to !llvm.ptr
    %64 = llvm.getelementptr %63[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %65 = llvm.load %r15 : !llvm.ptr -> i32
    llvm.store %65, %64 <alignment = 4> : i32, !llvm.ptr
    %66 = llvm.load %r18 : !llvm.ptr -> i1
    llvm.cond_br %66, ^b6, ^b5
  ^b5:
    llvm.br ^b7
  ^b6:
    llvm.store %67, %r28 : i32, !llvm.ptr
    %68 = llvm.load %r12 : !llvm.ptr -> i64
    %69 = llvm.inttoptr %68 : i64 to !llvm.ptr
    %70 = llvm.getelementptr %69[60] : (!llvm.ptr) -> !llvm.ptr, i8
    %71 = llvm.load %r28 : !llvm.ptr -> i32
    llvm.store %71, %70 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b8
  ^b7:
    %72 = llvm.load %r12 : !llvm.ptr -> i64
    %73 = llvm.inttoptr %72 : i64 to !llvm.ptr
    %74 = llvm.getelementptr %73[60] : (!llvm.ptr) -> !llvm.ptr, i8
    %75 = llvm.load %74 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %75, %r28 : i32, !llvm.ptr
    llvm.br ^b8
  ^b8:
    %76 = llvm.load %r28 : !llvm.ptr -> i32
    %77 = llvm.or %76, %1 : i32
    llvm.store %77, %r29 : i32, !llvm.ptr
    %78 = llvm.load %r29 : !llvm.ptr -> i32
    %80 = llvm.icmp "eq" %78, %79 : i32
    llvm.cond_br %80, ^b10, ^b9
  ^b9:
    %81 = llvm.load %r12 : !llvm.ptr -> i64
    %82 = llvm.inttoptr %81 : i64 to !llvm.ptr
    %83 = llvm.getelementptr %82[-4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %83 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b10
  ^b10:
    %84 = llvm.load %r12 : !llvm.ptr -> i64
    %85 = llvm.inttoptr %84 : i64 to !llvm.ptr
    %86 = llvm.getelementptr %85[68] : (!llvm.ptr) -> !llvm.ptr, i8
    %87 = llvm.load %86 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %87, %r32 : i32, !llvm.ptr
    %88 = llvm.getelementptr %86[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %89 = llvm.load %88 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %89, %r33 : i32, !llvm.ptr
    %90 = llvm.load %r12 : !llvm.ptr -> i64
    %91 = llvm.inttoptr %90 : i64 to !llvm.ptr
    %92 = llvm.getelementptr %91[-8] : (!llvm.ptr) -> !llvm.ptr, i8
    %93 = llvm.load %92 <alignment = 4> : !llvm.ptr -> i32
    %94 = llvm.zext %93 : i32 to i64
    llvm.store %94, %r34 : i64, !llvm.ptr
    %95 = llvm.load %r34 : !llvm.ptr -> i64
    %96 = llvm.icmp "eq" %95, %2 : i64
    llvm.cond_br %96, ^b14, ^b11
  ^b11:
    llvm.store %3, %r36 : i32, !llvm.ptr
    %97 = llvm.load %r32 : !llvm.ptr -> i32
    %98 = llvm.zext %97 : i32 to i64
    %99 = llvm.load %r33 : !llvm.ptr -> i32
    %102 = llvm.icmp "uge" %100, %101 : i32
    %103 = llvm.select %102, %3, %100 : i1, i32
    %104 = llvm.lshr %99, %103 : i32
    %105 = llvm.select %102, %3, %104 : i1, i32
    %106 = llvm.zext %105 : i32 to i64
    %107 = llvm.call_intrinsic "llvm.umax"(%98, %106) : (i64, i64) -> i64
    %110 = llvm.icmp "uge" %108, %109 : i32
    %111 = llvm.select %110, %3, %108 : i1, i32
    %112 = llvm.zext %111 : i32 to i64
    %113 = llvm.shl %107, %112 : i64
    %114 = llvm.select %110, %2, %113 : i1, i64
    %115 = llvm.load %r28 : !llvm.ptr -> i32
    %116 = llvm.zext %115 : i32 to i64
    %117 = llvm.call_intrinsic "llvm.umin"(%98, %106) : (i64, i64) -> i64
    %119 = llvm.icmp "uge" %118, %109 : i32
    %120 = llvm.select %119, %3, %118 : i1, i32
    %121 = llvm.zext %120 : i32 to i64
    %122 = llvm.shl %117, %121 : i64
    %123 = llvm.select %119, %2, %122 : i1, i64
    %124 = llvm.or %123, %116 : i64
    %125 = llvm.or %124, %114 : i64
    llvm.store %125, %r46 : i64, !llvm.ptr
    llvm.br ^b12
  ^b12:
    %126 = llvm.load %r36 : !llvm.ptr -> i32
    %128 = llvm.zext %126 : i32 to i64
    %129 = llvm.zext %127 : i32 to i64
    %130 = llvm.mul %128, %129 : i64
    %131 = llvm.load %r0 : !llvm.ptr -> i64
    %132 = llvm.add %131, %130 : i64
    %133 = llvm.inttoptr %132 : i64 to !llvm.ptr
    %134 = llvm.getelementptr %133[272] : (!llvm.ptr) -> !llvm.ptr, i8
    %135 = llvm.load %134 <alignment = 4> : !llvm.ptr -> i32
    %136 = llvm.getelementptr %134[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %137 = llvm.load %136 <alignment = 4> : !llvm.ptr -> i32
    %138 = llvm.inttoptr %132 : i64 to !llvm.ptr
    %139 = llvm.getelementptr %138[280] : (!llvm.ptr) -> !llvm.ptr, i8
    %140 = llvm.load %139 <alignment = 4> : !llvm.ptr -> i32
    %141 = llvm.getelementptr %139[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %142 = llvm.load %141 <alignment = 4> : !llvm.ptr -> i32
    %143 = llvm.zext %140 : i32 to i64
    %144 = llvm.icmp "uge" %100, %101 : i32
    %145 = llvm.select %144, %3, %100 : i1, i32
    %146 = llvm.lshr %142, %145 : i32
    %147 = llvm.select %144, %3, %146 : i1, i32
    %148 = llvm.zext %147 : i32 to i64
    %149 = llvm.zext %135 : i32 to i64
    %150 = llvm.call_intrinsic "llvm.umin"(%143, %148) : (i64, i64) -> i64
    %151 = llvm.icmp "uge" %118, %109 : i32
    %152 = llvm.select %151, %3, %118 : i1, i32
    %153 = llvm.zext %152 : i32 to i64
    %154 = llvm.shl %150, %153 : i64
    %155 = llvm.select %151, %2, %154 : i1, i64
    %156 = llvm.or %155, %149 : i64
    %157 = llvm.call_intrinsic "llvm.umax"(%143, %148) : (i64, i64) -> i64
    %158 = llvm.icmp "uge" %108, %109 : i32
    %159 = llvm.select %158, %3, %108 : i1, i32
    %160 = llvm.zext %159 : i32 to i64
    %161 = llvm.shl %157, %160 : i64
    %162 = llvm.select %158, %2, %161 : i1, i64
    %163 = llvm.or %156, %162 : i64
    %164 = llvm.load %r46 : !llvm.ptr -> i64
    %165 = llvm.icmp "eq" %163, %164 : i64
    %166 = llvm.load %r36 : !llvm.ptr -> i32
    %167 = llvm.add %166, %1 : i32
    llvm.store %167, %r36 : i32, !llvm.ptr
    llvm.cond_br %165, ^b16, ^b13
  ^b13:
    %168 = llvm.load %r34 : !llvm.ptr -> i64
    %169 = llvm.trunc %168 : i64 to i32
    %170 = llvm.load %r36 : !llvm.ptr -> i32
    %171 = llvm.icmp "ult" %170, %169 : i32
    llvm.cond_br %171, ^b12, ^b14
  ^b14:
    %172 = llvm.load %r34 : !llvm.ptr -> i64
    %173 = llvm.trunc %172 : i64 to i32
    llvm.store %173, %r66 : i32, !llvm.ptr
    %174 = llvm.load %r29 : !llvm.ptr -> i32
    %175 = llvm.icmp "ne" %174, %79 : i32
    %177 = llvm.select %175, %118, %176 : i1, i32
    %178 = llvm.load %r66 : !llvm.ptr -> i32
    %179 = llvm.icmp "uge" %178, %177 : i32
    llvm.cond_br %179, ^b16, ^b15
  ^b15:
    %180 = llvm.load %r12 : !llvm.ptr -> i64
    %181 = llvm.inttoptr %180 : i64 to !llvm.ptr
    %182 = llvm.getelementptr %181[76] : (!llvm.ptr) -> !llvm.ptr, i8
    %183 = llvm.load %182 <alignment = 8> : !llvm.ptr -> i64
    %184 = llvm.load %r12 : !llvm.ptr -> i64
    %185 = llvm.inttoptr %184 : i64 to !llvm.ptr
    %186 = llvm.getelementptr %185[84] : (!llvm.ptr) -> !llvm.ptr, i8
    %187 = llvm.load %186 <alignment = 8> : !llvm.ptr -> i64
    %188 = llvm.load %r12 : !llvm.ptr -> i64
    %189 = llvm.inttoptr %188 : i64 to !llvm.ptr
    %190 = llvm.getelementptr %189[92] : (!llvm.ptr) -> !llvm.ptr, i8
    %191 = llvm.load %190 <alignment = 8> : !llvm.ptr -> i64
    %192 = llvm.load %r12 : !llvm.ptr -> i64
    %193 = llvm.inttoptr %192 : i64 to !llvm.ptr
    %194 = llvm.getelementptr %193[100] : (!llvm.ptr) -> !llvm.ptr, i8
    %195 = llvm.load %194 <alignment = 8> : !llvm.ptr -> i64
    %196 = llvm.load %r66 : !llvm.ptr -> i32
    %197 = llvm.add %196, %1 : i32
    %198 = llvm.load %r12 : !llvm.ptr -> i64
    %199 = llvm.inttoptr %198 : i64 to !llvm.ptr
    %200 = llvm.getelementptr %199[-8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %197, %200 <alignment = 4> : i32, !llvm.ptr
    %201 = llvm.load %r12 : !llvm.ptr -> i64
    %202 = llvm.inttoptr %201 : i64 to !llvm.ptr
    %203 = llvm.getelementptr %202[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %204 = llvm.load %203 <alignment = 4> : !llvm.ptr -> i32
    %205 = llvm.load %r34 : !llvm.ptr -> i64
    %207 = llvm.mul %205, %206 : i64
    %208 = llvm.load %r0 : !llvm.ptr -> i64
    %209 = llvm.add %208, %207 : i64
    %210 = llvm.inttoptr %209 : i64 to !llvm.ptr
    %211 = llvm.getelementptr %210[272] : (!llvm.ptr) -> !llvm.ptr, i8
    %212 = llvm.load %r28 : !llvm.ptr -> i32
    llvm.store %212, %211 <alignment = 4> : i32, !llvm.ptr
    %213 = llvm.getelementptr %211[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %204, %213 <alignment = 4> : i32, !llvm.ptr
    %214 = llvm.inttoptr %209 : i64 to !llvm.ptr
    %215 = llvm.getelementptr %214[280] : (!llvm.ptr) -> !llvm.ptr, i8
    %216 = llvm.load %r32 : !llvm.ptr -> i32
    llvm.store %216, %215 <alignment = 4> : i32, !llvm.ptr
    %217 = llvm.load %r33 : !llvm.ptr -> i32
    %218 = llvm.getelementptr %215[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %217, %218 <alignment = 4> : i32, !llvm.ptr
    %219 = llvm.inttoptr %209 : i64 to !llvm.ptr
    %220 = llvm.getelementptr %219[288] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %183, %220 <alignment = 8> : i64, !llvm.ptr
    %221 = llvm.inttoptr %209 : i64 to !llvm.ptr
    %222 = llvm.getelementptr %221[296] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %187, %222 <alignment = 8> : i64, !llvm.ptr
    %223 = llvm.inttoptr %209 : i64 to !llvm.ptr
    %224 = llvm.getelementptr %223[304] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %191, %224 <alignment = 8> : i64, !llvm.ptr
    %225 = llvm.inttoptr %209 : i64 to !llvm.ptr
    %226 = llvm.getelementptr %225[312] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %195, %226 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^b16
  ^b16:
    %227 = llvm.load %r8 : !llvm.ptr -> i32
    %228 = llvm.icmp "eq" %227, %3 : i32
    llvm.store %3, %r79 : i32, !llvm.ptr
    llvm.cond_br %228, ^b49, ^b17
  ^b17:
    %229 = llvm.load %r12 : !llvm.ptr -> i64
    %230 = llvm.inttoptr %229 : i64 to !llvm.ptr
    %231 = llvm.getelementptr %230[-92] : (!llvm.ptr) -> !llvm.ptr, i8
    %232 = llvm.load %231 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %2, %r81 : i64, !llvm.ptr
    %233 = llvm.load %r4 : !llvm.ptr -> i32
    %235 = llvm.zext %233 : i32 to i64
    %236 = llvm.zext %234 : i32 to i64
    %237 = llvm.mul %235, %236 : i64
    %238 = llvm.add %232, %237 : i64
    llvm.store %238, %r83 : i64, !llvm.ptr
    %239 = llvm.load %r83 : !llvm.ptr -> i64
    %240 = llvm.inttoptr %239 : i64 to !llvm.ptr
    %241 = llvm.load %240 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %241, %r84 : i32, !llvm.ptr
    %242 = llvm.load %r6 : !llvm.ptr -> i64
    %244 = llvm.icmp "ult" %242, %243 : i64
    llvm.store %245, %r86 : i32, !llvm.ptr
    %246 = llvm.load %r86 : !llvm.ptr -> i32
    llvm.store %246, %r87 : i32, !llvm.ptr
    %247 = llvm.load %r81 : !llvm.ptr -> i64
    llvm.store %247, %r88 : i64, !llvm.ptr
    %248 = llvm.load %r81 : !llvm.ptr -> i64
    llvm.store %248, %r89 : i64, !llvm.ptr
    %249 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %249, %r90 : i64, !llvm.ptr
    %250 = llvm.load %r81 : !llvm.ptr -> i64
    llvm.store %250, %r91 : i64, !llvm.ptr
    %251 = llvm.load %r81 : !llvm.ptr -> i64
    llvm.store %251, %r92 : i64, !llvm.ptr
    %252 = llvm.load %r86 : !llvm.ptr -> i32
    llvm.store %252, %r93 : i32, !llvm.ptr
    llvm.cond_br %244, ^b47, ^b18
  ^b18:
    %253 = llvm.load %r84 : !llvm.ptr -> i32
    %255 = llvm.and %253, %254 : i32
    %256 = llvm.icmp "eq" %255, %3 : i32
    llvm.cond_br %256, ^b20, ^b19
  ^b19:
    %257 = llvm.load %r12 : !llvm.ptr -> i64
    %258 = llvm.inttoptr %257 : i64 to !llvm.ptr
    %259 = llvm.getelementptr %258[-12] : (!llvm.ptr) -> !llvm.ptr, i8
    %260 = llvm.load %259 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %2, %r88 : i64, !llvm.ptr
    %261 = llvm.add %260, %1 : i32
    %262 = llvm.load %r12 : !llvm.ptr -> i64
    %263 = llvm.inttoptr %262 : i64 to !llvm.ptr
    %264 = llvm.getelementptr %263[-12] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %261, %264 <alignment = 4> : i32, !llvm.ptr
    %266 = llvm.icmp "ugt" %261, %265 : i32
    llvm.store %245, %r99 : i32, !llvm.ptr
    llvm.store %39, %r100 : i1, !llvm.ptr
    %267 = llvm.load %r88 : !llvm.ptr -> i64
    llvm.store %267, %r101 : i64, !llvm.ptr
    %268 = llvm.load %r88 : !llvm.ptr -> i64
    llvm.store %268, %r102 : i64, !llvm.ptr
    %269 = llvm.load %r88 : !llvm.ptr -> i64
    llvm.store %269, %r103 : i64, !llvm.ptr
    %270 = llvm.load %r88 : !llvm.ptr -> i64
    llvm.store %270, %r104 : i64, !llvm.ptr
    llvm.cond_br %266, ^b41, ^b20
  ^b20:
    %271 = llvm.load %r12 : !llvm.ptr -> i64
    %272 = llvm.inttoptr %271 : i64 to !llvm.ptr
    %273 = llvm.getelementptr %272[-116] : (!llvm.ptr) -> !llvm.ptr, i8
    %274 = llvm.load %273 <alignment = 8> : !llvm.ptr -> i64
    %275 = llvm.load %r6 : !llvm.ptr -> i64
    %276 = llvm.sub %275, %274 : i64
    llvm.store %276, %r106 : i64, !llvm.ptr
    %277 = llvm.load %r6 : !llvm.ptr -> i64
    %278 = llvm.load %r10 : !llvm.ptr -> i64
    %279 = llvm.sub %277, %278 : i64
    llvm.store %279, %r88 : i64, !llvm.ptr
    %280 = llvm.load %r83 : !llvm.ptr -> i64
    %281 = llvm.inttoptr %280 : i64 to !llvm.ptr
    %282 = llvm.getelementptr %281[20] : (!llvm.ptr) -> !llvm.ptr, i8
    %283 = llvm.load %282 <alignment = 4> : !llvm.ptr -> i32
    %284 = llvm.zext %283 : i32 to i64
    %285 = llvm.load %r12 : !llvm.ptr -> i64
    %286 = llvm.inttoptr %285 : i64 to !llvm.ptr
    %287 = llvm.getelementptr %286[-84] : (!llvm.ptr) -> !llvm.ptr, i8
    %288 = llvm.load %287 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %288, %r108 : i64, !llvm.ptr
    %289 = llvm.load %r108 : !llvm.ptr -> i64
    %290 = llvm.add %289, %284 : i64
    llvm.store %290, %r103 : i64, !llvm.ptr
    %291 = llvm.load %r83 : !llvm.ptr -> i64
    %292 = llvm.inttoptr %291 : i64 to !llvm.ptr
    %293 = llvm.getelementptr %292[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %294 = llvm.load %293 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %294, %r109 : i32, !llvm.ptr
    %295 = llvm.load %r109 : !llvm.ptr -> i32
    %296 = llvm.icmp "eq" %295, %1 : i32
    llvm.cond_br %296, ^b22, ^b21
  ^b21:
    llvm.br ^b23
  ^b22:
    %297 = llvm.load %r83 : !llvm.ptr -> i64
    %298 = llvm.inttoptr %297 : i64 to !llvm.ptr
    %299 = llvm.getelementptr %298[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %300 = llvm.load %299 <alignment = 4> : !llvm.ptr -> i32
    %301 = llvm.zext %300 : i32 to i64
    llvm.store %301, %r101 : i64, !llvm.ptr
    %302 = llvm.load %r83 : !llvm.ptr -> i64
    %303 = llvm.inttoptr %302 : i64 to !llvm.ptr
    %304 = llvm.getelementptr %303[12] : (!llvm.ptr) -> !llvm.ptr, i8
    %305 = llvm.load %304 <alignment = 4> : !llvm.ptr -> i32
    %306 = llvm.zext %305 : i32 to i64
    llvm.store %306, %r102 : i64, !llvm.ptr
    llvm.store %2, %r104 : i64, !llvm.ptr
    llvm.store %1, %r99 : i32, !llvm.ptr
    %307 = llvm.load %r106 : !llvm.ptr -> i64
    llvm.store %307, %r88 : i64, !llvm.ptr
    llvm.br ^b40
  ^b23:
    %308 = llvm.load %r109 : !llvm.ptr -> i32
    %310 = llvm.icmp "eq" %308, %309 : i32
    llvm.cond_br %310, ^b25, ^b24
  ^b24:
    llvm.br ^b26
  ^b25:
    %311 = llvm.load %r83 : !llvm.ptr -> i64
    %312 = llvm.inttoptr %311 : i64 to !llvm.ptr
    %313 = llvm.getelementptr %312[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %314 = llvm.load %313 <alignment = 4> : !llvm.ptr -> i32
    %315 = llvm.zext %314 : i32 to i64
    llvm.store %315, %r101 : i64, !llvm.ptr
    %316 = llvm.load %r83 : !llvm.ptr -> i64
    %317 = llvm.inttoptr %316 : i64 to !llvm.ptr
    %318 = llvm.getelementptr %317[12] : (!llvm.ptr) -> !llvm.ptr, i8
    %319 = llvm.load %318 <alignment = 4> : !llvm.ptr -> i32
    %320 = llvm.zext %319 : i32 to i64
    llvm.store %320, %r102 : i64, !llvm.ptr
    llvm.store %2, %r104 : i64, !llvm.ptr
    llvm.store %309, %r99 : i32, !llvm.ptr
    llvm.br ^b40
  ^b26:
    %321 = llvm.load %r109 : !llvm.ptr -> i32
    %322 = llvm.icmp "eq" %321, %3 : i32
    llvm.cond_br %322, ^b30, ^b27
  ^b27:
    %323 = llvm.load %r12 : !llvm.ptr -> i64
    %324 = llvm.inttoptr %323 : i64 to !llvm.ptr
    %325 = llvm.getelementptr %324[-100] : (!llvm.ptr) -> !llvm.ptr, i8
    %326 = llvm.load %325 <alignment = 8> : !llvm.ptr -> i64
    %328 = llvm.add %326, %327 : i64
    llvm.store %328, %r114 : i64, !llvm.ptr
    %329 = llvm.inttoptr %326 : i64 to !llvm.ptr
    %330 = llvm.getelementptr %329[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %331 = llvm.load %330 <alignment = 4> : !llvm.ptr -> i32
    %332 = llvm.zext %331 : i32 to i64
    llvm.store %332, %r115 : i64, !llvm.ptr
    %333 = llvm.inttoptr %326 : i64 to !llvm.ptr
    %334 = llvm.getelementptr %333[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %335 = llvm.load %334 <alignment = 4> : !llvm.ptr -> i32
    %336 = llvm.zext %335 : i32 to i64
    llvm.store %336, %r102 : i64, !llvm.ptr
    %337 = llvm.load %r106 : !llvm.ptr -> i64
    %338 = llvm.load %r115 : !llvm.ptr -> i64
    %339 = llvm.icmp "ult" %337, %338 : i64
    llvm.cond_br %339, ^b29, ^b28
  ^b28:
    llvm.br ^b31
  ^b29:
    %340 = llvm.mlir.addressof @check.variable.23 : !llvm.ptr
    %341 = llvm.ptrtoint %340 : !llvm.ptr to i64
    llvm.store %341, %r103 : i64, !llvm.ptr
    llvm.store %2, %r101 : i64, !llvm.ptr
    llvm.store %1, %r99 : i32, !llvm.ptr
    %342 = llvm.load %r106 : !llvm.ptr -> i64
    llvm.store %342, %r88 : i64, !llvm.ptr
    %343 = llvm.load %r115 : !llvm.ptr -> i64
    llvm.store %343, %r102 : i64, !llvm.ptr
    %344 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %344, %r104 : i64, !llvm.ptr
    llvm.br ^b40
  ^b30:
    %345 = llvm.load %r83 : !llvm.ptr -> i64
    %346 = llvm.inttoptr %345 : i64 to !llvm.ptr
    %347 = llvm.getelementptr %346[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %348 = llvm.load %347 <alignment = 4> : !llvm.ptr -> i32
    %349 = llvm.load %r12 : !llvm.ptr -> i64
    %350 = llvm.inttoptr %349 : i64 to !llvm.ptr
    %351 = llvm.getelementptr %350[-52] : (!llvm.ptr) -> !llvm.ptr, i8
    %352 = llvm.load %351 <alignment = 8> : !llvm.ptr -> i64
    %353 = llvm.zext %348 : i32 to i64
    %354 = llvm.zext %101 : i32 to i64
    %355 = llvm.mul %353, %354 : i64
    %356 = llvm.add %352, %355 : i64
    llvm.store %356, %r104 : i64, !llvm.ptr
    %357 = llvm.load %r104 : !llvm.ptr -> i64
    %358 = llvm.inttoptr %357 : i64 to !llvm.ptr
    %359 = llvm.getelementptr %358[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %360 = llvm.load %359 <alignment = 4> : !llvm.ptr -> i32
    %361 = llvm.zext %360 : i32 to i64
    %362 = llvm.load %r104 : !llvm.ptr -> i64
    %363 = llvm.inttoptr %362 : i64 to !llvm.ptr
    %364 = llvm.load %363 <alignment = 8> : !llvm.ptr -> i64
    %365 = llvm.load %r108 : !llvm.ptr -> i64
    %366 = llvm.add %365, %361 : i64
    llvm.store %366, %r103 : i64, !llvm.ptr
    %367 = llvm.load %r6 : !llvm.ptr -> i64
    %368 = llvm.sub %367, %364 : i64
    llvm.store %368, %r88 : i64, !llvm.ptr
    %369 = llvm.load %r104 : !llvm.ptr -> i64
    %370 = llvm.inttoptr %369 : i64 to !llvm.ptr
    %371 = llvm.getelementptr %370[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %372 = llvm.load %371 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %372, %r102 : i64, !llvm.ptr
    llvm.store %2, %r101 : i64, !llvm.ptr
    llvm.store %3, %r99 : i32, !llvm.ptr
    llvm.br ^b40
  ^b31:
    %373 = llvm.load %r88 : !llvm.ptr -> i64
    %374 = llvm.load %r102 : !llvm.ptr -> i64
    %375 = llvm.icmp "ult" %373, %374 : i64
    llvm.cond_br %375, ^b33, ^b32
  ^b32:
    llvm.br ^b34
  ^b33:
    %376 = llvm.mlir.addressof @check.variable.24 : !llvm.ptr
    %377 = llvm.ptrtoint %376 : !llvm.ptr to i64
    llvm.store %377, %r103 : i64, !llvm.ptr
    llvm.store %2, %r101 : i64, !llvm.ptr
    llvm.store %309, %r99 : i32, !llvm.ptr
    %378 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %378, %r104 : i64, !llvm.ptr
    llvm.br ^b40
  ^b34:
    %379 = llvm.load %r114 : !llvm.ptr -> i64
    %380 = llvm.inttoptr %379 : i64 to !llvm.ptr
    %381 = llvm.getelementptr %380[12] : (!llvm.ptr) -> !llvm.ptr, i8
    %382 = llvm.load %381 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %382, %r125 : i32, !llvm.ptr
    %383 = llvm.load %r125 : !llvm.ptr -> i32
    %384 = llvm.icmp "eq" %383, %3 : i32
    llvm.store %2, %r101 : i64, !llvm.ptr
    llvm.store %245, %r99 : i32, !llvm.ptr
    %385 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %385, %r88 : i64, !llvm.ptr
    %386 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %386, %r102 : i64, !llvm.ptr
    %387 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %387, %r103 : i64, !llvm.ptr
    %388 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %388, %r104 : i64, !llvm.ptr
    llvm.cond_br %384, ^b40, ^b35
  ^b35:
    %389 = llvm.load %r12 : !llvm.ptr -> i64
    %390 = llvm.inttoptr %389 : i64 to !llvm.ptr
    %391 = llvm.getelementptr %390[-52] : (!llvm.ptr) -> !llvm.ptr, i8
    %392 = llvm.load %391 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %392, %r127 : i64, !llvm.ptr
    llvm.store %3, %r128 : i32, !llvm.ptr
    llvm.br ^b36
  ^b36:
    %393 = llvm.load %r128 : !llvm.ptr -> i32
    %394 = llvm.zext %393 : i32 to i64
    %395 = llvm.zext %101 : i32 to i64
    %396 = llvm.mul %394, %395 : i64
    %397 = llvm.load %r127 : !llvm.ptr -> i64
    %398 = llvm.add %397, %396 : i64
    llvm.store %398, %r104 : i64, !llvm.ptr
    %399 = llvm.load %r104 : !llvm.ptr -> i64
    %400 = llvm.inttoptr %399 : i64 to !llvm.ptr
    %401 = llvm.load %400 <alignment = 8> : !llvm.ptr -> i64
    %402 = llvm.load %r6 : !llvm.ptr -> i64
    %403 = llvm.sub %402, %401 : i64
    llvm.store %403, %r88 : i64, !llvm.ptr
    %404 = llvm.load %r104 : !llvm.ptr -> i64
    %405 = llvm.inttoptr %404 : i64 to !llvm.ptr
    %406 = llvm.getelementptr %405[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %407 = llvm.load %406 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %407, %r102 : i64, !llvm.ptr
    %408 = llvm.load %r88 : !llvm.ptr -> i64
    %409 = llvm.load %r102 : !llvm.ptr -> i64
    %410 = llvm.icmp "ult" %408, %409 : i64
    %411 = llvm.load %r128 : !llvm.ptr -> i32
    %412 = llvm.add %411, %1 : i32
    llvm.store %412, %r128 : i32, !llvm.ptr
    llvm.cond_br %410, ^b39, ^b37
  ^b37:
    %413 = llvm.load %r128 : !llvm.ptr -> i32
    %414 = llvm.load %r125 : !llvm.ptr -> i32
    %415 = llvm.icmp "ult" %413, %414 : i32
    %416 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %416, %r88 : i64, !llvm.ptr
    %417 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %417, %r102 : i64, !llvm.ptr
    %418 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %418, %r103 : i64, !llvm.ptr
    %419 = llvm.load %r101 : !llvm.ptr -> i64
    llvm.store %419, %r104 : i64, !llvm.ptr
    llvm.cond_br %415, ^b36, ^b38
  ^b38:
    llvm.br ^b40
  ^b39:
    %420 = llvm.load %r104 : !llvm.ptr -> i64
    %421 = llvm.inttoptr %420 : i64 to !llvm.ptr
    %422 = llvm.getelementptr %421[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %423 = llvm.load %422 <alignment = 4> : !llvm.ptr -> i32
    %424 = llvm.zext %423 : i32 to i64
    %425 = llvm.load %r108 : !llvm.ptr -> i64
    %426 = llvm.add %425, %424 : i64
    llvm.store %426, %r103 : i64, !llvm.ptr
    llvm.store %3, %r99 : i32, !llvm.ptr
    llvm.br ^b40
  ^b40:
    llvm.store %4, %r100 : i1, !llvm.ptr
    llvm.br ^b41
  ^b41:
    %427 = llvm.load %r88 : !llvm.ptr -> i64
    %428 = llvm.load %r101 : !llvm.ptr -> i64
    %429 = llvm.sub %427, %428 : i64
    llvm.store %429, %r134 : i64, !llvm.ptr
    %430 = llvm.load %r99 : !llvm.ptr -> i32
    %431 = llvm.icmp "eq" %430, %245 : i32
    llvm.store %431, %r135 : i1, !llvm.ptr
    %432 = llvm.load %r135 : !llvm.ptr -> i1
    %433 = llvm.load %r6 : !llvm.ptr -> i64
    %434 = llvm.load %r134 : !llvm.ptr -> i64
    %435 = llvm.select %432, %433, %434 : i1, i64
    llvm.store %435, %r136 : i64, !llvm.ptr
    %436 = llvm.load %r135 : !llvm.ptr -> i1
    %437 = llvm.load %r103 : !llvm.ptr -> i64
    %438 = llvm.select %436, %2, %437 : i1, i64
    llvm.store %438, %r91 : i64, !llvm.ptr
    %439 = llvm.load %r102 : !llvm.ptr -> i64
    %440 = llvm.load %r101 : !llvm.ptr -> i64
    %441 = llvm.sub %439, %440 : i64
    llvm.store %441, %r137 : i64, !llvm.ptr
    %442 = llvm.load %r135 : !llvm.ptr -> i1
    %443 = llvm.load %r137 : !llvm.ptr -> i64
    %444 = llvm.select %442, %2, %443 : i1, i64
    llvm.store %444, %r138 : i64, !llvm.ptr
    llvm.store %445, %r93 : i32, !llvm.ptr
    %446 = llvm.load %r99 : !llvm.ptr -> i32
    llvm.store %446, %r87 : i32, !llvm.ptr
    %447 = llvm.load %r104 : !llvm.ptr -> i64
    llvm.store %447, %r89 : i64, !llvm.ptr
    %448 = llvm.load %r136 : !llvm.ptr -> i64
    llvm.store %448, %r90 : i64, !llvm.ptr
    %449 = llvm.load %r138 : !llvm.ptr -> i64
    llvm.store %449, %r92 : i64, !llvm.ptr
    %450 = llvm.load %r100 : !llvm.ptr -> i1
    llvm.cond_br %450, ^b47, ^b42
  ^b42:
    %451 = llvm.load %r86 : !llvm.ptr -> i32
    llvm.store %451, %r87 : i32, !llvm.ptr
    %452 = llvm.load %r104 : !llvm.ptr -> i64
    llvm.store %452, %r89 : i64, !llvm.ptr
    %453 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %453, %r90 : i64, !llvm.ptr
    %454 = llvm.load %r81 : !llvm.ptr -> i64
    llvm.store %454, %r91 : i64, !llvm.ptr
    %455 = llvm.load %r81 : !llvm.ptr -> i64
    llvm.store %455, %r92 : i64, !llvm.ptr
    %456 = llvm.load %r86 : !llvm.ptr -> i32
    llvm.store %456, %r93 : i32, !llvm.ptr
    %457 = llvm.load %r135 : !llvm.ptr -> i1
    llvm.cond_br %457, ^b47, ^b43
  ^b43:
    %458 = llvm.load %r138 : !llvm.ptr -> i64
    %459 = llvm.load %r136 : !llvm.ptr -> i64
    %460 = llvm.icmp "ule" %458, %459 : i64
    llvm.store %3, %r93 : i32, !llvm.ptr
    %461 = llvm.load %r99 : !llvm.ptr -> i32
    llvm.store %461, %r87 : i32, !llvm.ptr
    %462 = llvm.load %r104 : !llvm.ptr -> i64
    llvm.store %462, %r89 : i64, !llvm.ptr
    %463 = llvm.load %r134 : !llvm.ptr -> i64
    llvm.store %463, %r90 : i64, !llvm.ptr
    %464 = llvm.load %r103 : !llvm.ptr -> i64
    llvm.store %464, %r91 : i64, !llvm.ptr
    %465 = llvm.load %r137 : !llvm.ptr -> i64
    llvm.store %465, %r92 : i64, !llvm.ptr
    llvm.cond_br %460, ^b47, ^b44
  ^b44:
    %466 = llvm.load %r8 : !llvm.ptr -> i32
    %467 = llvm.zext %466 : i32 to i64
    %468 = llvm.load %r138 : !llvm.ptr -> i64
    %469 = llvm.load %r136 : !llvm.ptr -> i64
    %470 = llvm.sub %468, %469 : i64
    %471 = llvm.icmp "ult" %470, %467 : i64
    %472 = llvm.load %r99 : !llvm.ptr -> i32
    llvm.store %472, %r87 : i32, !llvm.ptr
    %473 = llvm.load %r104 : !llvm.ptr -> i64
    llvm.store %473, %r89 : i64, !llvm.ptr
    %474 = llvm.load %r134 : !llvm.ptr -> i64
    llvm.store %474, %r90 : i64, !llvm.ptr
    %475 = llvm.load %r103 : !llvm.ptr -> i64
    llvm.store %475, %r91 : i64, !llvm.ptr
    %476 = llvm.load %r137 : !llvm.ptr -> i64
    llvm.store %476, %r92 : i64, !llvm.ptr
    llvm.cond_br %471, ^b47, ^b45
  ^b45:
    %477 = llvm.load %r8 : !llvm.ptr -> i32
    %479 = llvm.add %477, %478 : i32
    %480 = llvm.zext %479 : i32 to i64
    %481 = llvm.load %r88 : !llvm.ptr -> i64
    %482 = llvm.and %481, %480 : i64
    %483 = llvm.icmp "ne" %482, %2 : i64
    llvm.store %1, %r93 : i32, !llvm.ptr
    %484 = llvm.load %r99 : !llvm.ptr -> i32
    llvm.store %484, %r87 : i32, !llvm.ptr
    %485 = llvm.load %r104 : !llvm.ptr -> i64
    llvm.store %485, %r89 : i64, !llvm.ptr
    %486 = llvm.load %r134 : !llvm.ptr -> i64
    llvm.store %486, %r90 : i64, !llvm.ptr
    %487 = llvm.load %r103 : !llvm.ptr -> i64
    llvm.store %487, %r91 : i64, !llvm.ptr
    %488 = llvm.load %r137 : !llvm.ptr -> i64
    llvm.store %488, %r92 : i64, !llvm.ptr
    llvm.cond_br %483, ^b47, ^b46
  ^b46:
    llvm.br ^b105
  ^b47:
    %489 = llvm.load %r93 : !llvm.ptr -> i32
    %490 = llvm.icmp "eq" %489, %478 : i32
    llvm.cond_br %490, ^b50, ^b48
  ^b48:
    %491 = llvm.load %r8 : !llvm.ptr -> i32
    %492 = llvm.zext %491 : i32 to i64
    llvm.store %1, %r79 : i32, !llvm.ptr
    %493 = llvm.load %r12 : !llvm.ptr -> i64
    %494 = llvm.inttoptr %493 : i64 to !llvm.ptr
    %495 = llvm.getelementptr %494[108] : (!llvm.ptr) -> !llvm.ptr, i8
    %496 = llvm.load %r93 : !llvm.ptr -> i32
    llvm.store %496, %495 <alignment = 4> : i32, !llvm.ptr
    %497 = llvm.load %r2 : !llvm.ptr -> i32
    %498 = llvm.getelementptr %495[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %497, %498 <alignment = 4> : i32, !llvm.ptr
    %499 = llvm.load %r12 : !llvm.ptr -> i64
    %500 = llvm.inttoptr %499 : i64 to !llvm.ptr
    %501 = llvm.getelementptr %500[116] : (!llvm.ptr) -> !llvm.ptr, i8
    %502 = llvm.load %r4 : !llvm.ptr -> i32
    llvm.store %502, %501 <alignment = 4> : i32, !llvm.ptr
    %503 = llvm.getelementptr %501[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %503 <alignment = 4> : i32, !llvm.ptr
    %504 = llvm.load %r12 : !llvm.ptr -> i64
    %505 = llvm.inttoptr %504 : i64 to !llvm.ptr
    %506 = llvm.getelementptr %505[124] : (!llvm.ptr) -> !llvm.ptr, i8
    %507 = llvm.load %r90 : !llvm.ptr -> i64
    llvm.store %507, %506 <alignment = 8> : i64, !llvm.ptr
    %508 = llvm.load %r12 : !llvm.ptr -> i64
    %509 = llvm.inttoptr %508 : i64 to !llvm.ptr
    %510 = llvm.getelementptr %509[132] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %492, %510 <alignment = 8> : i64, !llvm.ptr
    %511 = llvm.load %r12 : !llvm.ptr -> i64
    %512 = llvm.inttoptr %511 : i64 to !llvm.ptr
    %513 = llvm.getelementptr %512[140] : (!llvm.ptr) -> !llvm.ptr, i8
    %514 = llvm.load %r91 : !llvm.ptr -> i64
    llvm.store %514, %513 <alignment = 8> : i64, !llvm.ptr
    %515 = llvm.load %r12 : !llvm.ptr -> i64
    %516 = llvm.inttoptr %515 : i64 to !llvm.ptr
    %517 = llvm.getelementptr %516[148] : (!llvm.ptr) -> !llvm.ptr, i8
    %518 = llvm.load %r92 : !llvm.ptr -> i64
    llvm.store %518, %517 <alignment = 8> : i64, !llvm.ptr
    %519 = llvm.load %r12 : !llvm.ptr -> i64
    %520 = llvm.inttoptr %519 : i64 to !llvm.ptr
    %521 = llvm.getelementptr %520[-24] : (!llvm.ptr) -> !llvm.ptr, i8
    %522 = llvm.load %r79 : !llvm.ptr -> i32
    llvm.store %522, %521 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b49
  ^b49:
    %523 = llvm.load %r79 : !llvm.ptr -> i32
    llvm.store %523, %r150 : i32, !llvm.ptr
    llvm.br ^exit
  ^b50:
    %524 = llvm.load %r87 : !llvm.ptr -> i32
    %525 = llvm.icmp "eq" %524, %1 : i32
    llvm.store %525, %r151 : i1, !llvm.ptr
    %526 = llvm.load %r151 : !llvm.ptr -> i1
    llvm.cond_br %526, ^b52, ^b51
  ^b51:
    llvm.br ^b53
  ^b52:
    %527 = llvm.load %r12 : !llvm.ptr -> i64
    %528 = llvm.inttoptr %527 : i64 to !llvm.ptr
    %529 = llvm.getelementptr %528[-68] : (!llvm.ptr) -> !llvm.ptr, i8
    %530 = llvm.load %529 <alignment = 8> : !llvm.ptr -> i64
    %531 = llvm.load %r88 : !llvm.ptr -> i64
    %533 = llvm.mul %531, %532 : i64
    %534 = llvm.add %530, %533 : i64
    llvm.store %534, %r154 : i64, !llvm.ptr
    llvm.br ^b61
  ^b53:
    %535 = llvm.load %r89 : !llvm.ptr -> i64
    %536 = llvm.icmp "eq" %535, %2 : i64
    llvm.store %2, %r154 : i64, !llvm.ptr
    llvm.cond_br %536, ^b61, ^b54
  ^b54:
    %537 = llvm.load %r89 : !llvm.ptr -> i64
    %539 = llvm.add %537, %538 : i64
    llvm.store %539, %r156 : i64, !llvm.ptr
    %540 = llvm.load %r89 : !llvm.ptr -> i64
    %541 = llvm.inttoptr %540 : i64 to !llvm.ptr
    %542 = llvm.getelementptr %541[28] : (!llvm.ptr) -> !llvm.ptr, i8
    %543 = llvm.load %542 <alignment = 4> : !llvm.ptr -> i32
    %544 = llvm.icmp "eq" %543, %3 : i32
    llvm.cond_br %544, ^b61, ^b55
  ^b55:
    %545 = llvm.load %r156 : !llvm.ptr -> i64
    %546 = llvm.inttoptr %545 : i64 to !llvm.ptr
    %547 = llvm.getelementptr %546[-12] : (!llvm.ptr) -> !llvm.ptr, i8
    %548 = llvm.load %547 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %548, %r159 : i64, !llvm.ptr
    %549 = llvm.load %r159 : !llvm.ptr -> i64
    %550 = llvm.icmp "ne" %549, %2 : i64
    llvm.cond_br %550, ^b57, ^b56
  ^b56:
    %551 = llvm.load %r156 : !llvm.ptr -> i64
    %552 = llvm.inttoptr %551 : i64 to !llvm.ptr
    %553 = llvm.getelementptr %552[-20] : (!llvm.ptr) -> !llvm.ptr, i8
    %554 = llvm.load %553 <alignment = 8> : !llvm.ptr -> i64
    %555 = llvm.icmp "uge" %118, %109 : i32
    %556 = llvm.select %555, %3, %118 : i1, i32
    %557 = llvm.zext %556 : i32 to i64
    %558 = llvm.lshr %554, %557 : i64
    %559 = llvm.select %555, %2, %558 : i1, i64
    %561 = llvm.add %559, %560 : i64
    llvm.store %561, %6 <alignment = 8> : i64, !llvm.ptr
    llvm.store %562, %7 <alignment = 8> : i64, !llvm.ptr
    %563 = llvm.load %6 <alignment = 8> : !llvm.ptr -> i64
    %564 = llvm.load %7 <alignment = 8> : !llvm.ptr -> i64
    %565 = llvm.call @calloc(%563, %564) : (i64, i64) -> !llvm.ptr
    llvm.store %565, %8 <alignment = 8> : !llvm.ptr, !llvm.ptr
    %566 = llvm.load %8 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %566, %r159 : i64, !llvm.ptr
    %567 = llvm.load %r156 : !llvm.ptr -> i64
    %568 = llvm.inttoptr %567 : i64 to !llvm.ptr
    %569 = llvm.getelementptr %568[-12] : (!llvm.ptr) -> !llvm.ptr, i8
    %570 = llvm.load %r159 : !llvm.ptr -> i64
    llvm.store %570, %569 <alignment = 8> : i64, !llvm.ptr
    %571 = llvm.load %r159 : !llvm.ptr -> i64
    %572 = llvm.icmp "eq" %571, %2 : i64
    llvm.cond_br %572, ^b61, ^b57
  ^b57:
    %573 = llvm.load %r88 : !llvm.ptr -> i64
    %575 = llvm.icmp "uge" %574, %109 : i32
    %576 = llvm.select %575, %3, %574 : i1, i32
    %577 = llvm.zext %576 : i32 to i64
    %578 = llvm.lshr %573, %577 : i64
    %579 = llvm.select %575, %2, %578 : i1, i64
    %581 = llvm.and %579, %580 : i64
    %582 = llvm.load %r159 : !llvm.ptr -> i64
    %583 = llvm.add %582, %581 : i64
    llvm.store %583, %r167 : i64, !llvm.ptr
    %584 = llvm.load %r167 : !llvm.ptr -> i64
    %585 = llvm.inttoptr %584 : i64 to !llvm.ptr
    %586 = llvm.load %585 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %586, %r168 : i64, !llvm.ptr
    %587 = llvm.load %r168 : !llvm.ptr -> i64
    %588 = llvm.icmp "ne" %587, %2 : i64
    llvm.cond_br %588, ^b60, ^b58
  ^b58:
    llvm.store %560, %9 <alignment = 8> : i64, !llvm.ptr
    llvm.store %589, %10 <alignment = 8> : i64, !llvm.ptr
    %590 = llvm.load %9 <alignment = 8> : !llvm.ptr -> i64
    %591 = llvm.load %10 <alignment = 8> : !llvm.ptr -> i64
    %592 = llvm.call @calloc(%590, %591) : (i64, i64) -> !llvm.ptr
    llvm.store %592, %11 <alignment = 8> : !llvm.ptr, !llvm.ptr
    %593 = llvm.load %11 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %593, %r170 : i64, !llvm.ptr
    %594 = llvm.load %r170 : !llvm.ptr -> i64
    %595 = llvm.icmp "eq" %594, %2 : i64
    llvm.cond_br %595, ^b61, ^b59
  ^b59:
    %596 = llvm.load %r12 : !llvm.ptr -> i64
    %597 = llvm.inttoptr %596 : i64 to !llvm.ptr
    %598 = llvm.getelementptr %597[52] : (!llvm.ptr) -> !llvm.ptr, i8
    %599 = llvm.load %598 <alignment = 8> : !llvm.ptr -> i64
    %600 = llvm.load %r170 : !llvm.ptr -> i64
    %601 = llvm.inttoptr %600 : i64 to !llvm.ptr
    llvm.store %599, %601 <alignment = 8> : i64, !llvm.ptr
    %602 = llvm.load %r12 : !llvm.ptr -> i64
    %603 = llvm.inttoptr %602 : i64 to !llvm.ptr
    %604 = llvm.getelementptr %603[52] : (!llvm.ptr) -> !llvm.ptr, i8
    %605 = llvm.load %r170 : !llvm.ptr -> i64
    llvm.store %605, %604 <alignment = 8> : i64, !llvm.ptr
    %606 = llvm.load %r170 : !llvm.ptr -> i64
    %607 = llvm.add %606, %327 : i64
    llvm.store %607, %r168 : i64, !llvm.ptr
    %608 = llvm.load %r167 : !llvm.ptr -> i64
    %609 = llvm.inttoptr %608 : i64 to !llvm.ptr
    %610 = llvm.load %r168 : !llvm.ptr -> i64
    llvm.store %610, %609 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^b60
  ^b60:
    %611 = llvm.load %r88 : !llvm.ptr -> i64
    %613 = llvm.and %611, %612 : i64
    %614 = llvm.mul %613, %532 : i64
    %615 = llvm.load %r168 : !llvm.ptr -> i64
    %616 = llvm.add %615, %614 : i64
    llvm.store %616, %r154 : i64, !llvm.ptr
    llvm.br ^b61
  ^b61:
    %617 = llvm.load %r154 : !llvm.ptr -> i64
    %618 = llvm.icmp "eq" %617, %2 : i64
    llvm.cond_br %618, ^b49, ^b62
  ^b62:
    %619 = llvm.load %r84 : !llvm.ptr -> i32
    %620 = llvm.and %619, %254 : i32
    llvm.store %620, %r176 : i32, !llvm.ptr
    %621 = llvm.load %r84 : !llvm.ptr -> i32
    %622 = llvm.icmp "uge" %118, %101 : i32
    %623 = llvm.select %622, %3, %118 : i1, i32
    %624 = llvm.shl %621, %623 : i32
    %625 = llvm.select %622, %3, %624 : i1, i32
    %627 = llvm.and %625, %626 : i32
    %628 = llvm.load %r4 : !llvm.ptr -> i32
    %629 = llvm.icmp "uge" %100, %101 : i32
    %630 = llvm.select %629, %3, %100 : i1, i32
    %631 = llvm.shl %628, %630 : i32
    %632 = llvm.select %629, %3, %631 : i1, i32
    %633 = llvm.load %r2 : !llvm.ptr -> i32
    %634 = llvm.or %632, %633 : i32
    %635 = llvm.or %634, %627 : i32
    %637 = llvm.or %635, %636 : i32
    llvm.store %637, %r182 : i32, !llvm.ptr
    %638 = llvm.load %r12 : !llvm.ptr -> i64
    %639 = llvm.inttoptr %638 : i64 to !llvm.ptr
    %640 = llvm.getelementptr %639[-20] : (!llvm.ptr) -> !llvm.ptr, i8
    %641 = llvm.load %640 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %641, %r183 : i32, !llvm.ptr
    %642 = llvm.load %r84 : !llvm.ptr -> i32
    %643 = llvm.and %642, %309 : i32
    llvm.store %643, %r184 : i32, !llvm.ptr
    %644 = llvm.load %r84 : !llvm.ptr -> i32
    %645 = llvm.and %644, %1 : i32
    %646 = llvm.icmp "eq" %645, %1 : i32
    llvm.store %646, %r186 : i1, !llvm.ptr
    llvm.store %3, %r187 : i32, !llvm.ptr
    %647 = llvm.load %r186 : !llvm.ptr -> i1
    %648 = llvm.load %r151 : !llvm.ptr -> i1
    %649 = llvm.and %647, %648 : i1
    %650 = llvm.load %r8 : !llvm.ptr -> i32
    %651 = llvm.zext %650 : i32 to i64
    llvm.store %651, %r189 : i64, !llvm.ptr
    %652 = llvm.load %r2 : !llvm.ptr -> i32
    %653 = llvm.zext %652 : i32 to i64
    llvm.store %653, %r190 : i64, !llvm.ptr
    %654 = llvm.xor %649, %39 : i1
    llvm.store %654, %r191 : i1, !llvm.ptr
    llvm.br ^b63
  ^b63:
    %655 = llvm.load %r191 : !llvm.ptr -> i1
    llvm.cond_br %655, ^b69, ^b64
  ^b64:
    %656 = llvm.load %r154 : !llvm.ptr -> i64
    %657 = llvm.inttoptr %656 : i64 to !llvm.ptr
    %658 = llvm.getelementptr %657[1] : (!llvm.ptr) -> !llvm.ptr, i8
    %659 = llvm.load %658 <alignment = 1> : !llvm.ptr -> i8
    %660 = llvm.zext %659 : i8 to i16
    %662 = llvm.and %660, %661 : i16
    %663 = llvm.icmp "ne" %662, %5 : i16
    llvm.cond_br %663, ^b69, ^b65
  ^b65:
    %664 = llvm.load %r12 : !llvm.ptr -> i64
    %665 = llvm.inttoptr %664 : i64 to !llvm.ptr
    %666 = llvm.load %665 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %666, %r195 : i32, !llvm.ptr
    %667 = llvm.load %r12 : !llvm.ptr -> i64
    %668 = llvm.inttoptr %667 : i64 to !llvm.ptr
    %669 = llvm.getelementptr %668[60] : (!llvm.ptr) -> !llvm.ptr, i8
    %670 = llvm.load %669 <alignment = 4> : !llvm.ptr -> i32
    %671 = llvm.icmp "eq" %670, %79 : i32
    llvm.store %1, %r198 : i32, !llvm.ptr
    llvm.cond_br %671, ^b67, ^b66
  ^b66:
    %672 = llvm.load %r12 : !llvm.ptr -> i64
    %673 = llvm.inttoptr %672 : i64 to !llvm.ptr
    %674 = llvm.getelementptr %673[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %675 = llvm.load %674 <alignment = 4> : !llvm.ptr -> i32
    %676 = llvm.icmp "ne" %675, %3 : i32
    %677 = llvm.select %676, %1, %3 : i1, i32
    llvm.store %677, %r198 : i32, !llvm.ptr
    llvm.br ^b67
  ^b67:
    %678 = llvm.load %r195 : !llvm.ptr -> i32
    %679 = llvm.icmp "eq" %678, %3 : i32
    %680 = llvm.select %679, %1, %3 : i1, i32
    %681 = llvm.load %r198 : !llvm.ptr -> i32
    %682 = llvm.or %681, %680 : i32
    %683 = llvm.icmp "eq" %682, %3 : i32
    llvm.cond_br %683, ^b69, ^b68
  ^b68:
    %684 = llvm.load %r12 : !llvm.ptr -> i64
    %685 = llvm.inttoptr %684 : i64 to !llvm.ptr
    llvm.store %1, %685 <alignment = 4> : i32, !llvm.ptr
    %686 = llvm.load %r12 : !llvm.ptr -> i64
    %687 = llvm.inttoptr %686 : i64 to !llvm.ptr
    %688 = llvm.getelementptr %687[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %688 <alignment = 4> : i32, !llvm.ptr
    %689 = llvm.load %r12 : !llvm.ptr -> i64
    %690 = llvm.inttoptr %689 : i64 to !llvm.ptr
    %691 = llvm.getelementptr %690[60] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %254, %691 <alignment = 4> : i32, !llvm.ptr
    %692 = llvm.load %r2 : !llvm.ptr -> i32
    %693 = llvm.getelementptr %691[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %692, %693 <alignment = 4> : i32, !llvm.ptr
    %694 = llvm.load %r12 : !llvm.ptr -> i64
    %695 = llvm.inttoptr %694 : i64 to !llvm.ptr
    %696 = llvm.getelementptr %695[68] : (!llvm.ptr) -> !llvm.ptr, i8
    %697 = llvm.load %r4 : !llvm.ptr -> i32
    llvm.store %697, %696 <alignment = 4> : i32, !llvm.ptr
    %698 = llvm.getelementptr %696[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %698 <alignment = 4> : i32, !llvm.ptr
    %699 = llvm.load %r12 : !llvm.ptr -> i64
    %700 = llvm.inttoptr %699 : i64 to !llvm.ptr
    %701 = llvm.getelementptr %700[76] : (!llvm.ptr) -> !llvm.ptr, i8
    %702 = llvm.load %r90 : !llvm.ptr -> i64
    llvm.store %702, %701 <alignment = 8> : i64, !llvm.ptr
    %703 = llvm.load %r12 : !llvm.ptr -> i64
    %704 = llvm.inttoptr %703 : i64 to !llvm.ptr
    %705 = llvm.getelementptr %704[84] : (!llvm.ptr) -> !llvm.ptr, i8
    %706 = llvm.load %r189 : !llvm.ptr -> i64
    llvm.store %706, %705 <alignment = 8> : i64, !llvm.ptr
    %707 = llvm.load %r12 : !llvm.ptr -> i64
    %708 = llvm.inttoptr %707 : i64 to !llvm.ptr
    %709 = llvm.getelementptr %708[92] : (!llvm.ptr) -> !llvm.ptr, i8
    %710 = llvm.load %r91 : !llvm.ptr -> i64
    llvm.store %710, %709 <alignment = 8> : i64, !llvm.ptr
    %711 = llvm.load %r12 : !llvm.ptr -> i64
    %712 = llvm.inttoptr %711 : i64 to !llvm.ptr
    %713 = llvm.getelementptr %712[100] : (!llvm.ptr) -> !llvm.ptr, i8
    %714 = llvm.load %r92 : !llvm.ptr -> i64
    llvm.store %714, %713 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^b69
  ^b69:
    llvm.store %3, %r208 : i32, !llvm.ptr
    %715 = llvm.load %r154 : !llvm.ptr -> i64
    llvm.store %715, %r209 : i64, !llvm.ptr
    llvm.br ^b70
  ^b70:
    %716 = llvm.load %r209 : !llvm.ptr -> i64
    %717 = llvm.inttoptr %716 : i64 to !llvm.ptr
    %718 = llvm.getelementptr %717[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %719 = llvm.load %718 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %719, %r210 : i32, !llvm.ptr
    %720 = llvm.load %r209 : !llvm.ptr -> i64
    %721 = llvm.inttoptr %720 : i64 to !llvm.ptr
    %722 = llvm.load %721 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %722, %r211 : i32, !llvm.ptr
    %723 = llvm.load %r211 : !llvm.ptr -> i32
    %724 = llvm.and %723, %636 : i32
    %725 = llvm.icmp "eq" %724, %3 : i32
    llvm.store %5, %r214 : i16, !llvm.ptr
    llvm.cond_br %725, ^b80, ^b71
  ^b71:
    %726 = llvm.load %r176 : !llvm.ptr -> i32
    %727 = llvm.icmp "ne" %726, %3 : i32
    %728 = llvm.load %r211 : !llvm.ptr -> i32
    %730 = llvm.icmp "uge" %729, %101 : i32
    %731 = llvm.select %730, %3, %729 : i1, i32
    %732 = llvm.lshr %728, %731 : i32
    %733 = llvm.select %730, %3, %732 : i1, i32
    %734 = llvm.and %733, %1 : i32
    %735 = llvm.icmp "eq" %734, %1 : i32
    %736 = llvm.and %727, %735 : i1
    llvm.cond_br %736, ^b80, ^b72
  ^b72:
    %737 = llvm.load %r12 : !llvm.ptr -> i64
    %738 = llvm.inttoptr %737 : i64 to !llvm.ptr
    %739 = llvm.getelementptr %738[-92] : (!llvm.ptr) -> !llvm.ptr, i8
    %740 = llvm.load %739 <alignment = 8> : !llvm.ptr -> i64
    %741 = llvm.load %r211 : !llvm.ptr -> i32
    %742 = llvm.icmp "uge" %100, %101 : i32
    %743 = llvm.select %742, %3, %100 : i1, i32
    %744 = llvm.lshr %741, %743 : i32
    %745 = llvm.select %742, %3, %744 : i1, i32
    %746 = llvm.zext %745 : i32 to i64
    %747 = llvm.zext %234 : i32 to i64
    %748 = llvm.mul %746, %747 : i64
    %749 = llvm.add %740, %748 : i64
    %750 = llvm.inttoptr %749 : i64 to !llvm.ptr
    %751 = llvm.load %750 <alignment = 4> : !llvm.ptr -> i32
    %752 = llvm.load %r184 : !llvm.ptr -> i32
    %753 = llvm.and %752, %751 : i32
    %754 = llvm.icmp "eq" %753, %3 : i32
    %755 = llvm.load %r84 : !llvm.ptr -> i32
    %756 = llvm.or %751, %755 : i32
    %757 = llvm.icmp "uge" %245, %101 : i32
    %758 = llvm.select %757, %3, %245 : i1, i32
    %759 = llvm.lshr %756, %758 : i32
    %760 = llvm.select %757, %3, %759 : i1, i32
    %761 = llvm.and %760, %1 : i32
    %762 = llvm.icmp "eq" %761, %1 : i32
    %763 = llvm.and %754, %762 : i1
    llvm.cond_br %763, ^b80, ^b73
  ^b73:
    %764 = llvm.load %r211 : !llvm.ptr -> i32
    %766 = llvm.and %764, %765 : i32
    llvm.store %766, %r232 : i32, !llvm.ptr
    %767 = llvm.load %r232 : !llvm.ptr -> i32
    %768 = llvm.load %r2 : !llvm.ptr -> i32
    %769 = llvm.icmp "eq" %767, %768 : i32
    llvm.store %770, %r234 : i16, !llvm.ptr
    llvm.cond_br %769, ^b79, ^b74
  ^b74:
    %771 = llvm.load %r12 : !llvm.ptr -> i64
    %772 = llvm.inttoptr %771 : i64 to !llvm.ptr
    %773 = llvm.getelementptr %772[-16] : (!llvm.ptr) -> !llvm.ptr, i8
    %774 = llvm.load %773 <alignment = 4> : !llvm.ptr -> i32
    %775 = llvm.load %r210 : !llvm.ptr -> i32
    %776 = llvm.icmp "uge" %774, %775 : i32
    llvm.cond_br %776, ^b79, ^b75
  ^b75:
    %777 = llvm.load %r12 : !llvm.ptr -> i64
    %778 = llvm.inttoptr %777 : i64 to !llvm.ptr
    %779 = llvm.getelementptr %778[-60] : (!llvm.ptr) -> !llvm.ptr, i8
    %780 = llvm.load %779 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %780, %r237 : i64, !llvm.ptr
    %781 = llvm.load %r237 : !llvm.ptr -> i64
    %782 = llvm.icmp "eq" %781, %2 : i64
    llvm.store %5, %r234 : i16, !llvm.ptr
    llvm.cond_br %782, ^b79, ^b76
  ^b76:
    %783 = llvm.load %r232 : !llvm.ptr -> i32
    %784 = llvm.icmp "uge" %574, %101 : i32
    %785 = llvm.select %784, %3, %574 : i1, i32
    %786 = llvm.lshr %783, %785 : i32
    %787 = llvm.select %784, %3, %786 : i1, i32
    %788 = llvm.load %r190 : !llvm.ptr -> i64
    %790 = llvm.mul %788, %789 : i64
    %791 = llvm.load %r237 : !llvm.ptr -> i64
    %792 = llvm.add %791, %790 : i64
    llvm.store %792, %r241 : i64, !llvm.ptr
    %793 = llvm.zext %787 : i32 to i64
    %794 = llvm.zext %254 : i32 to i64
    %795 = llvm.mul %793, %794 : i64
    %796 = llvm.load %r241 : !llvm.ptr -> i64
    %797 = llvm.add %796, %795 : i64
    %798 = llvm.inttoptr %797 : i64 to !llvm.ptr
    %799 = llvm.load %798 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %799, %r244 : i32, !llvm.ptr
    %800 = llvm.load %r232 : !llvm.ptr -> i32
    %801 = llvm.load %r2 : !llvm.ptr -> i32
    %802 = llvm.xor %800, %801 : i32
    %804 = llvm.icmp "ugt" %802, %803 : i32
    llvm.cond_br %804, ^b78, ^b77
  ^b77:
    %805 = llvm.load %r211 : !llvm.ptr -> i32
    %806 = llvm.icmp "uge" %309, %101 : i32
    %807 = llvm.select %806, %3, %309 : i1, i32
    %808 = llvm.shl %805, %807 : i32
    %809 = llvm.select %806, %3, %808 : i1, i32
    %810 = llvm.zext %809 : i32 to i64
    %812 = llvm.and %810, %811 : i64
    %813 = llvm.load %r241 : !llvm.ptr -> i64
    %814 = llvm.add %813, %812 : i64
    %815 = llvm.inttoptr %814 : i64 to !llvm.ptr
    %816 = llvm.getelementptr %815[128] : (!llvm.ptr) -> !llvm.ptr, i8
    %817 = llvm.load %816 <alignment = 4> : !llvm.ptr -> i32
    %818 = llvm.load %r244 : !llvm.ptr -> i32
    %819 = llvm.call_intrinsic "llvm.umax"(%818, %817) : (i32, i32) -> i32
    llvm.store %819, %r244 : i32, !llvm.ptr
    llvm.br ^b78
  ^b78:
    %820 = llvm.load %r232 : !llvm.ptr -> i32
    %822 = llvm.zext %820 : i32 to i64
    %823 = llvm.zext %821 : i32 to i64
    %824 = llvm.mul %822, %823 : i64
    %825 = llvm.load %r237 : !llvm.ptr -> i64
    %826 = llvm.add %825, %824 : i64
    %827 = llvm.inttoptr %826 : i64 to !llvm.ptr
    %828 = llvm.getelementptr %827[256] : (!llvm.ptr) -> !llvm.ptr, i8
    %829 = llvm.load %828 <alignment = 4> : !llvm.ptr -> i32
    %830 = llvm.load %r241 : !llvm.ptr -> i64
    %831 = llvm.inttoptr %830 : i64 to !llvm.ptr
    %832 = llvm.getelementptr %831[260] : (!llvm.ptr) -> !llvm.ptr, i8
    %833 = llvm.load %832 <alignment = 4> : !llvm.ptr -> i32
    %834 = llvm.call_intrinsic "llvm.umin"(%833, %829) : (i32, i32) -> i32
    %835 = llvm.load %r244 : !llvm.ptr -> i32
    %836 = llvm.call_intrinsic "llvm.umax"(%835, %834) : (i32, i32) -> i32
    %837 = llvm.load %r210 : !llvm.ptr -> i32
    %838 = llvm.icmp "uge" %836, %837 : i32
    %839 = llvm.select %838, %770, %5 : i1, i16
    llvm.store %839, %r234 : i16, !llvm.ptr
    llvm.br ^b79
  ^b79:
    %840 = llvm.load %r234 : !llvm.ptr -> i16
    %841 = llvm.icmp "eq" %840, %5 : i16
    %842 = llvm.select %841, %770, %5 : i1, i16
    llvm.store %842, %r214 : i16, !llvm.ptr
    llvm.br ^b80
  ^b80:
    %843 = llvm.load %r214 : !llvm.ptr -> i16
    %844 = llvm.icmp "eq" %843, %5 : i16
    llvm.cond_br %844, ^b92, ^b81
  ^b81:
    %845 = llvm.load %r8 : !llvm.ptr -> i32
    %847 = llvm.icmp "ult" %845, %846 : i32
    %848 = llvm.load %r211 : !llvm.ptr -> i32
    %849 = llvm.icmp "uge" %100, %101 : i32
    %850 = llvm.select %849, %3, %100 : i1, i32
    %851 = llvm.lshr %848, %850 : i32
    %852 = llvm.select %849, %3, %851 : i1, i32
    %853 = llvm.load %r12 : !llvm.ptr -> i64
    %854 = llvm.inttoptr %853 : i64 to !llvm.ptr
    %855 = llvm.getelementptr %854[-92] : (!llvm.ptr) -> !llvm.ptr, i8
    %856 = llvm.load %855 <alignment = 8> : !llvm.ptr -> i64
    %857 = llvm.zext %852 : i32 to i64
    %858 = llvm.zext %234 : i32 to i64
    %859 = llvm.mul %857, %858 : i64
    %860 = llvm.add %856, %859 : i64
    %861 = llvm.inttoptr %860 : i64 to !llvm.ptr
    %862 = llvm.load %861 <alignment = 4> : !llvm.ptr -> i32
    %863 = llvm.and %862, %1 : i32
    %864 = llvm.icmp "eq" %863, %1 : i32
    %865 = llvm.load %r186 : !llvm.ptr -> i1
    %866 = llvm.or %864, %865 : i1
    %867 = llvm.xor %866, %39 : i1
    %868 = llvm.and %847, %867 : i1
    %869 = llvm.load %r8 : !llvm.ptr -> i32
    %870 = llvm.select %868, %869, %3 : i1, i32
    llvm.store %870, %r272 : i32, !llvm.ptr
    %871 = llvm.load %r208 : !llvm.ptr -> i32
    %872 = llvm.icmp "eq" %871, %3 : i32
    llvm.store %872, %r273 : i1, !llvm.ptr
    %873 = llvm.load %r273 : !llvm.ptr -> i1
    %874 = llvm.load %r84 : !llvm.ptr -> i32
    %875 = llvm.select %873, %874, %862 : i1, i32
    %876 = llvm.icmp "uge" %118, %101 : i32
    %877 = llvm.select %876, %3, %118 : i1, i32
    %878 = llvm.lshr %875, %877 : i32
    %879 = llvm.select %876, %3, %878 : i1, i32
    llvm.store %879, %r275 : i32, !llvm.ptr
    %880 = llvm.load %r275 : !llvm.ptr -> i32
    %881 = llvm.icmp "eq" %880, %3 : i32
    llvm.store %574, %r277 : i32, !llvm.ptr
    llvm.cond_br %881, ^b83, ^b82
  ^b82:
    llvm.store %3, %r272 : i32, !llvm.ptr
    %882 = llvm.load %r275 : !llvm.ptr -> i32
    %883 = llvm.icmp "uge" %882, %109 : i32
    %884 = llvm.select %883, %3, %882 : i1, i32
    %885 = llvm.zext %884 : i32 to i64
    %886 = llvm.shl %560, %885 : i64
    %887 = llvm.select %883, %2, %886 : i1, i64
    %888 = llvm.load %r211 : !llvm.ptr -> i32
    %889 = llvm.and %888, %765 : i32
    %890 = llvm.load %r273 : !llvm.ptr -> i1
    %891 = llvm.load %r2 : !llvm.ptr -> i32
    %892 = llvm.select %890, %891, %889 : i1, i32
    %893 = llvm.load %r12 : !llvm.ptr -> i64
    %894 = llvm.inttoptr %893 : i64 to !llvm.ptr
    %895 = llvm.getelementptr %894[-44] : (!llvm.ptr) -> !llvm.ptr, i8
    %896 = llvm.load %895 <alignment = 8> : !llvm.ptr -> i64
    %898 = llvm.zext %892 : i32 to i64
    %899 = llvm.zext %897 : i32 to i64
    %900 = llvm.mul %898, %899 : i64
    %901 = llvm.add %896, %900 : i64
    %902 = llvm.inttoptr %901 : i64 to !llvm.ptr
    %903 = llvm.getelementptr %902[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %904 = llvm.load %903 <alignment = 8> : !llvm.ptr -> i64
    %905 = llvm.or %904, %887 : i64
    %906 = llvm.inttoptr %901 : i64 to !llvm.ptr
    %907 = llvm.getelementptr %906[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %905, %907 <alignment = 8> : i64, !llvm.ptr
    llvm.store %79, %r277 : i32, !llvm.ptr
    llvm.br ^b83
  ^b83:
    %908 = llvm.load %r12 : !llvm.ptr -> i64
    %909 = llvm.inttoptr %908 : i64 to !llvm.ptr
    %910 = llvm.load %909 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %910, %r287 : i32, !llvm.ptr
    %911 = llvm.load %r277 : !llvm.ptr -> i32
    %912 = llvm.icmp "eq" %911, %79 : i32
    llvm.cond_br %912, ^b85, ^b84
  ^b84:
    llvm.br ^b87
  ^b85:
    %913 = llvm.load %r287 : !llvm.ptr -> i32
    %914 = llvm.icmp "ne" %913, %3 : i32
    llvm.cond_br %914, ^b92, ^b86
  ^b86:
    llvm.br ^b91
  ^b87:
    %915 = llvm.load %r12 : !llvm.ptr -> i64
    %916 = llvm.inttoptr %915 : i64 to !llvm.ptr
    %917 = llvm.getelementptr %916[60] : (!llvm.ptr) -> !llvm.ptr, i8
    %918 = llvm.load %917 <alignment = 4> : !llvm.ptr -> i32
    %919 = llvm.icmp "eq" %918, %79 : i32
    llvm.store %1, %r292 : i32, !llvm.ptr
    llvm.cond_br %919, ^b90, ^b88
  ^b88:
    %920 = llvm.load %r12 : !llvm.ptr -> i64
    %921 = llvm.inttoptr %920 : i64 to !llvm.ptr
    %922 = llvm.getelementptr %921[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %923 = llvm.load %922 <alignment = 4> : !llvm.ptr -> i32
    %924 = llvm.icmp "eq" %923, %3 : i32
    llvm.store %3, %r292 : i32, !llvm.ptr
    llvm.cond_br %924, ^b90, ^b89
  ^b89:
    %925 = llvm.load %r272 : !llvm.ptr -> i32
    %926 = llvm.icmp "eq" %925, %3 : i32
    %927 = llvm.select %926, %1, %3 : i1, i32
    llvm.store %927, %r292 : i32, !llvm.ptr
    llvm.br ^b90
  ^b90:
    %928 = llvm.load %r287 : !llvm.ptr -> i32
    %929 = llvm.icmp "eq" %928, %3 : i32
    %930 = llvm.select %929, %1, %3 : i1, i32
    %931 = llvm.load %r292 : !llvm.ptr -> i32
    %932 = llvm.or %931, %930 : i32
    %933 = llvm.icmp "eq" %932, %3 : i32
    llvm.cond_br %933, ^b92, ^b91
  ^b91:
    %934 = llvm.load %r12 : !llvm.ptr -> i64
    %935 = llvm.inttoptr %934 : i64 to !llvm.ptr
    llvm.store %1, %935 <alignment = 4> : i32, !llvm.ptr
    %936 = llvm.load %r12 : !llvm.ptr -> i64
    %937 = llvm.inttoptr %936 : i64 to !llvm.ptr
    %938 = llvm.getelementptr %937[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %939 = llvm.load %r272 : !llvm.ptr -> i32
    llvm.store %939, %938 <alignment = 4> : i32, !llvm.ptr
    %940 = llvm.load %r12 : !llvm.ptr -> i64
    %941 = llvm.inttoptr %940 : i64 to !llvm.ptr
    %942 = llvm.getelementptr %941[60] : (!llvm.ptr) -> !llvm.ptr, i8
    %943 = llvm.load %r277 : !llvm.ptr -> i32
    llvm.store %943, %942 <alignment = 4> : i32, !llvm.ptr
    %944 = llvm.load %r2 : !llvm.ptr -> i32
    %945 = llvm.getelementptr %942[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %944, %945 <alignment = 4> : i32, !llvm.ptr
    %946 = llvm.load %r12 : !llvm.ptr -> i64
    %947 = llvm.inttoptr %946 : i64 to !llvm.ptr
    %948 = llvm.getelementptr %947[68] : (!llvm.ptr) -> !llvm.ptr, i8
    %949 = llvm.load %r4 : !llvm.ptr -> i32
    llvm.store %949, %948 <alignment = 4> : i32, !llvm.ptr
    %950 = llvm.load %r211 : !llvm.ptr -> i32
    %951 = llvm.getelementptr %948[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %950, %951 <alignment = 4> : i32, !llvm.ptr
    %952 = llvm.load %r12 : !llvm.ptr -> i64
    %953 = llvm.inttoptr %952 : i64 to !llvm.ptr
    %954 = llvm.getelementptr %953[76] : (!llvm.ptr) -> !llvm.ptr, i8
    %955 = llvm.load %r90 : !llvm.ptr -> i64
    llvm.store %955, %954 <alignment = 8> : i64, !llvm.ptr
    %956 = llvm.load %r12 : !llvm.ptr -> i64
    %957 = llvm.inttoptr %956 : i64 to !llvm.ptr
    %958 = llvm.getelementptr %957[84] : (!llvm.ptr) -> !llvm.ptr, i8
    %959 = llvm.load %r189 : !llvm.ptr -> i64
    llvm.store %959, %958 <alignment = 8> : i64, !llvm.ptr
    %960 = llvm.load %r12 : !llvm.ptr -> i64
    %961 = llvm.inttoptr %960 : i64 to !llvm.ptr
    %962 = llvm.getelementptr %961[92] : (!llvm.ptr) -> !llvm.ptr, i8
    %963 = llvm.load %r91 : !llvm.ptr -> i64
    llvm.store %963, %962 <alignment = 8> : i64, !llvm.ptr
    %964 = llvm.load %r12 : !llvm.ptr -> i64
    %965 = llvm.inttoptr %964 : i64 to !llvm.ptr
    %966 = llvm.getelementptr %965[100] : (!llvm.ptr) -> !llvm.ptr, i8
    %967 = llvm.load %r92 : !llvm.ptr -> i64
    llvm.store %967, %966 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^b92
  ^b92:
    %968 = llvm.load %r208 : !llvm.ptr -> i32
    %969 = llvm.add %968, %1 : i32
    llvm.store %969, %r208 : i32, !llvm.ptr
    %970 = llvm.load %r209 : !llvm.ptr -> i64
    %971 = llvm.add %970, %562 : i64
    llvm.store %971, %r209 : i64, !llvm.ptr
    %972 = llvm.load %r208 : !llvm.ptr -> i32
    %973 = llvm.load %r184 : !llvm.ptr -> i32
    %974 = llvm.icmp "ule" %972, %973 : i32
    llvm.cond_br %974, ^b70, ^b93
  ^b93:
    %975 = llvm.load %r184 : !llvm.ptr -> i32
    %976 = llvm.icmp "eq" %975, %3 : i32
    llvm.cond_br %976, ^b95, ^b94
  ^b94:
    llvm.br ^b98
  ^b95:
    %977 = llvm.load %r154 : !llvm.ptr -> i64
    %978 = llvm.inttoptr %977 : i64 to !llvm.ptr
    %979 = llvm.getelementptr %978[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %980 = llvm.load %979 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %980, %r303 : i32, !llvm.ptr
    %981 = llvm.load %r303 : !llvm.ptr -> i32
    %982 = llvm.load %r182 : !llvm.ptr -> i32
    %983 = llvm.xor %981, %982 : i32
    %985 = llvm.and %983, %984 : i32
    %986 = llvm.icmp "eq" %985, %3 : i32
    llvm.cond_br %986, ^b97, ^b96
  ^b96:
    %987 = llvm.load %r154 : !llvm.ptr -> i64
    %988 = llvm.inttoptr %987 : i64 to !llvm.ptr
    %989 = llvm.getelementptr %988[12] : (!llvm.ptr) -> !llvm.ptr, i8
    %990 = llvm.load %989 <alignment = 4> : !llvm.ptr -> i32
    %991 = llvm.load %r154 : !llvm.ptr -> i64
    %992 = llvm.inttoptr %991 : i64 to !llvm.ptr
    %993 = llvm.getelementptr %992[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %994 = llvm.load %r303 : !llvm.ptr -> i32
    llvm.store %994, %993 <alignment = 4> : i32, !llvm.ptr
    %995 = llvm.load %r154 : !llvm.ptr -> i64
    %996 = llvm.inttoptr %995 : i64 to !llvm.ptr
    %997 = llvm.getelementptr %996[20] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %990, %997 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b97
  ^b97:
    %998 = llvm.load %r154 : !llvm.ptr -> i64
    %999 = llvm.inttoptr %998 : i64 to !llvm.ptr
    %1000 = llvm.getelementptr %999[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %1001 = llvm.load %r182 : !llvm.ptr -> i32
    llvm.store %1001, %1000 <alignment = 4> : i32, !llvm.ptr
    %1002 = llvm.load %r154 : !llvm.ptr -> i64
    %1003 = llvm.inttoptr %1002 : i64 to !llvm.ptr
    %1004 = llvm.getelementptr %1003[12] : (!llvm.ptr) -> !llvm.ptr, i8
    %1005 = llvm.load %r183 : !llvm.ptr -> i32
    llvm.store %1005, %1004 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b99
  ^b98:
    %1006 = llvm.load %r154 : !llvm.ptr -> i64
    %1007 = llvm.inttoptr %1006 : i64 to !llvm.ptr
    %1008 = llvm.load %r182 : !llvm.ptr -> i32
    llvm.store %1008, %1007 <alignment = 4> : i32, !llvm.ptr
    %1009 = llvm.load %r154 : !llvm.ptr -> i64
    %1010 = llvm.inttoptr %1009 : i64 to !llvm.ptr
    %1011 = llvm.getelementptr %1010[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %1012 = llvm.load %r183 : !llvm.ptr -> i32
    llvm.store %1012, %1011 <alignment = 4> : i32, !llvm.ptr
    %1013 = llvm.load %r154 : !llvm.ptr -> i64
    %1014 = llvm.inttoptr %1013 : i64 to !llvm.ptr
    %1015 = llvm.getelementptr %1014[16] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %1015 <alignment = 4> : i32, !llvm.ptr
    %1016 = llvm.load %r154 : !llvm.ptr -> i64
    %1017 = llvm.inttoptr %1016 : i64 to !llvm.ptr
    %1018 = llvm.getelementptr %1017[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %1018 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b99
  ^b99:
    %1019 = llvm.load %r187 : !llvm.ptr -> i32
    %1020 = llvm.add %1019, %1 : i32
    llvm.store %1020, %r187 : i32, !llvm.ptr
    %1021 = llvm.load %r154 : !llvm.ptr -> i64
    %1022 = llvm.add %1021, %532 : i64
    llvm.store %1022, %r154 : i64, !llvm.ptr
    %1023 = llvm.load %r90 : !llvm.ptr -> i64
    %1024 = llvm.add %1023, %560 : i64
    llvm.store %1024, %r90 : i64, !llvm.ptr
    %1025 = llvm.load %r187 : !llvm.ptr -> i32
    %1026 = llvm.load %r8 : !llvm.ptr -> i32
    %1027 = llvm.icmp "ult" %1025, %1026 : i32
    llvm.cond_br %1027, ^b63, ^b100
  ^b100:
    %1028 = llvm.load %r12 : !llvm.ptr -> i64
    %1029 = llvm.inttoptr %1028 : i64 to !llvm.ptr
    %1030 = llvm.load %1029 <alignment = 4> : !llvm.ptr -> i32
    %1031 = llvm.icmp "eq" %1030, %3 : i32
    llvm.store %3, %r79 : i32, !llvm.ptr
    llvm.cond_br %1031, ^b49, ^b101
  ^b101:
    %1032 = llvm.load %r12 : !llvm.ptr -> i64
    %1033 = llvm.inttoptr %1032 : i64 to !llvm.ptr
    %1034 = llvm.getelementptr %1033[44] : (!llvm.ptr) -> !llvm.ptr, i8
    %1035 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %1035, %1034 <alignment = 8> : i64, !llvm.ptr
    %1036 = llvm.load %r12 : !llvm.ptr -> i64
    %1037 = llvm.inttoptr %1036 : i64 to !llvm.ptr
    %1038 = llvm.getelementptr %1037[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %1039 = llvm.load %1038 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %1039, %r312 : i32, !llvm.ptr
    %1040 = llvm.load %r312 : !llvm.ptr -> i32
    %1041 = llvm.icmp "eq" %1040, %3 : i32
    llvm.cond_br %1041, ^b49, ^b102
  ^b102:
    llvm.store %2, %r314 : i64, !llvm.ptr
    llvm.br ^b103
  ^b103:
    %1042 = llvm.load %r12 : !llvm.ptr -> i64
    %1043 = llvm.inttoptr %1042 : i64 to !llvm.ptr
    %1044 = llvm.getelementptr %1043[44] : (!llvm.ptr) -> !llvm.ptr, i8
    %1045 = llvm.load %1044 <alignment = 8> : !llvm.ptr -> i64
    %1046 = llvm.load %r314 : !llvm.ptr -> i64
    %1047 = llvm.add %1045, %1046 : i64
    %1048 = llvm.inttoptr %1047 : i64 to !llvm.ptr
    %1049 = llvm.load %1048 <alignment = 1> : !llvm.ptr -> i8
    %1050 = llvm.zext %1049 : i8 to i16
    %1051 = llvm.load %r0 : !llvm.ptr -> i64
    %1052 = llvm.inttoptr %1051 : i64 to !llvm.ptr
    %1053 = llvm.getelementptr %1052[124] : (!llvm.ptr) -> !llvm.ptr, i8
    %1054 = llvm.trunc %1050 : i16 to i8
    llvm.store %1054, %1053 <alignment = 1> : i8, !llvm.ptr
    %1055 = llvm.load %r314 : !llvm.ptr -> i64
    %1056 = llvm.add %1055, %560 : i64
    llvm.store %1056, %r314 : i64, !llvm.ptr
    %1057 = llvm.load %r314 : !llvm.ptr -> i64
    %1058 = llvm.trunc %1057 : i64 to i32
    %1059 = llvm.load %r0 : !llvm.ptr -> i64
    %1060 = llvm.add %1059, %560 : i64
    llvm.store %1060, %r0 : i64, !llvm.ptr
    %1061 = llvm.load %r312 : !llvm.ptr -> i32
    %1062 = llvm.icmp "ult" %1058, %1061 : i32
    llvm.cond_br %1062, ^b103, ^b104
  ^b104:
    llvm.br ^b49
  ^b105:
    %1063 = llvm.load %r104 : !llvm.ptr -> i64
    %1064 = llvm.icmp "eq" %1063, %2 : i64
    llvm.store %478, %r93 : i32, !llvm.ptr
    %1065 = llvm.load %r99 : !llvm.ptr -> i32
    llvm.store %1065, %r87 : i32, !llvm.ptr
    %1066 = llvm.load %r81 : !llvm.ptr -> i64
    llvm.store %1066, %r89 : i64, !llvm.ptr
    %1067 = llvm.load %r134 : !llvm.ptr -> i64
    llvm.store %1067, %r90 : i64, !llvm.ptr
    %1068 = llvm.load %r103 : !llvm.ptr -> i64
    llvm.store %1068, %r91 : i64, !llvm.ptr
    %1069 = llvm.load %r137 : !llvm.ptr -> i64
    llvm.store %1069, %r92 : i64, !llvm.ptr
    llvm.cond_br %1064, ^b47, ^b106
  ^b106:
    %1070 = llvm.load %r104 : !llvm.ptr -> i64
    %1071 = llvm.inttoptr %1070 : i64 to !llvm.ptr
    %1072 = llvm.getelementptr %1071[28] : (!llvm.ptr) -> !llvm.ptr, i8
    %1073 = llvm.load %1072 <alignment = 4> : !llvm.ptr -> i32
    %1074 = llvm.icmp "ne" %1073, %3 : i32
    %1075 = llvm.load %r99 : !llvm.ptr -> i32
    llvm.store %1075, %r87 : i32, !llvm.ptr
    %1076 = llvm.load %r104 : !llvm.ptr -> i64
    llvm.store %1076, %r89 : i64, !llvm.ptr
    %1077 = llvm.load %r134 : !llvm.ptr -> i64
    llvm.store %1077, %r90 : i64, !llvm.ptr
    %1078 = llvm.load %r103 : !llvm.ptr -> i64
    llvm.store %1078, %r91 : i64, !llvm.ptr
    %1079 = llvm.load %r137 : !llvm.ptr -> i64
    llvm.store %1079, %r92 : i64, !llvm.ptr
    llvm.cond_br %1074, ^b47, ^b107
  ^b107:
    %1080 = llvm.load %r84 : !llvm.ptr -> i32
    %1081 = llvm.and %1080, %309 : i32
    %1082 = llvm.icmp "eq" %1081, %3 : i32
    %1083 = llvm.select %1082, %478, %309 : i1, i32
    llvm.store %1083, %r93 : i32, !llvm.ptr
    %1084 = llvm.load %r99 : !llvm.ptr -> i32
    llvm.store %1084, %r87 : i32, !llvm.ptr
    %1085 = llvm.load %r104 : !llvm.ptr -> i64
    llvm.store %1085, %r89 : i64, !llvm.ptr
    %1086 = llvm.load %r134 : !llvm.ptr -> i64
    llvm.store %1086, %r90 : i64, !llvm.ptr
    %1087 = llvm.load %r103 : !llvm.ptr -> i64
    llvm.store %1087, %r91 : i64, !llvm.ptr
    %1088 = llvm.load %r137 : !llvm.ptr -> i64
    llvm.store %1088, %r92 : i64, !llvm.ptr
    llvm.br ^b47
  ^b108:
    llvm.br ^exit
  ^exit:
    %1089 = llvm.load %r150 : !llvm.ptr -> i32
    llvm.return %1089 : i32
  }
  llvm.func internal @check.turn(%a0: i64) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %4 = llvm.mlir.constant(0 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %3 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.inttoptr %3 : i64 to !llvm.ptr
    %6 = llvm.getelementptr %5[104] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %4, %6 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^exit
  ^b1:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.is_one_of(%a0: i32, %a1: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.mlir.constant(0 : i64) : i64
    %4 = llvm.mlir.constant(0 : i16) : i16
    %24 = llvm.mlir.constant(1 : i64) : i64
    %r0 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i32, !llvm.ptr
    %r1 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i32, !llvm.ptr
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %3, %r2 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %4, %r4 : i16, !llvm.ptr
    %r6 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r6 : i32, !llvm.ptr
    %r7 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i32, !llvm.ptr
    %r8 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r8 : i32, !llvm.ptr
    %r14 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r14 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i32, !llvm.ptr
    llvm.store %a1, %r3 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %5 = llvm.load %r1 : !llvm.ptr -> i32
    llvm.store %5, %r0 : i32, !llvm.ptr
    %6 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %6, %r2 : i64, !llvm.ptr
    %7 = llvm.load %r2 : !llvm.ptr -> i64
    %8 = llvm.inttoptr %7 : i64 to !llvm.ptr
    %9 = llvm.load %8 <alignment = 1> : !llvm.ptr -> i8
    %10 = llvm.zext %9 : i8 to i16
    llvm.store %10, %r4 : i16, !llvm.ptr
    %11 = llvm.load %r4 : !llvm.ptr -> i16
    %12 = llvm.icmp "eq" %11, %4 : i16
    llvm.store %2, %r6 : i32, !llvm.ptr
    %13 = llvm.load %r6 : !llvm.ptr -> i32
    llvm.store %13, %r7 : i32, !llvm.ptr
    llvm.cond_br %12, ^b4, ^b1
  ^b1:
    %14 = llvm.load %r0 : !llvm.ptr -> i32
    %15 = llvm.trunc %14 : i32 to i8
    %16 = llvm.sext %15 : i8 to i32
    llvm.store %16, %r8 : i32, !llvm.ptr
    llvm.br ^b2
  ^b2:
    %17 = llvm.load %r4 : !llvm.ptr -> i16
    %18 = llvm.zext %17 : i16 to i32
    %19 = llvm.trunc %18 : i32 to i8
    %20 = llvm.sext %19 : i8 to i32
    %21 = llvm.load %r8 : !llvm.ptr -> i32
    %22 = llvm.icmp "eq" %21, %20 : i32
    llvm.store %1, %r7 : i32, !llvm.ptr
    llvm.cond_br %22, ^b4, ^b3
  ^b3:
    %23 = llvm.load %r2 : !llvm.ptr -> i64
    %25 = llvm.add %23, %24 : i64
    %26 = llvm.load %r2 : !llvm.ptr -> i64
    %27 = llvm.inttoptr %26 : i64 to !llvm.ptr
    %28 = llvm.getelementptr %27[1] : (!llvm.ptr) -> !llvm.ptr, i8
    %29 = llvm.load %28 <alignment = 1> : !llvm.ptr -> i8
    %30 = llvm.zext %29 : i8 to i16
    llvm.store %30, %r4 : i16, !llvm.ptr
    %31 = llvm.load %r4 : !llvm.ptr -> i16
    %32 = llvm.icmp "ne" %31, %4 : i16
    llvm.store %25, %r2 : i64, !llvm.ptr
    %33 = llvm.load %r6 : !llvm.ptr -> i32
    llvm.store %33, %r7 : i32, !llvm.ptr
    llvm.cond_br %32, ^b2, ^b4
  ^b4:
    %34 = llvm.load %r7 : !llvm.ptr -> i32
    llvm.store %34, %r14 : i32, !llvm.ptr
    llvm.br ^exit
  ^b5:
    llvm.br ^exit
  ^exit:
    %35 = llvm.load %r14 : !llvm.ptr -> i32
    llvm.return %35 : i32
  }
  llvm.func internal @check.print(%a0: i64, %a1: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.mlir.constant(0 : i16) : i16
    %5 = llvm.mlir.constant(false) : i1
    %59 = llvm.mlir.constant(16 : i64) : i64
    %63 = llvm.mlir.constant(8 : i64) : i64
    %78 = llvm.mlir.constant(1 : i64) : i64
    %81 = llvm.mlir.constant(37 : i16) : i16
    %122 = llvm.mlir.constant(42 : i16) : i16
    %125 = llvm.mlir.constant(3 : i64) : i64
    %127 = llvm.mlir.constant(-4 : i64) : i64
    %133 = llvm.mlir.constant(-1 : i32) : i32
    %140 = llvm.mlir.constant(61 : i32) : i32
    %152 = llvm.mlir.constant(45 : i16) : i16
    %169 = llvm.mlir.constant(10 : i32) : i32
    %179 = llvm.mlir.constant(9 : i32) : i32
    %182 = llvm.mlir.constant(4 : i64) : i64
    %203 = llvm.mlir.constant(48 : i16) : i16
    %230 = llvm.mlir.constant(-858993459 : i32) : i32
    %234 = llvm.mlir.constant(35 : i32) : i32
    %235 = llvm.mlir.constant(64 : i32) : i32
    %293 = llvm.mlir.constant(1 : i16) : i16
    %298 = llvm.mlir.constant(2 : i64) : i64
    %329 = llvm.mlir.constant(37 : i32) : i32
    %358 = llvm.mlir.constant(7 : i64) : i64
    %360 = llvm.mlir.constant(-8 : i64) : i64
    %375 = llvm.mlir.constant(99 : i16) : i16
    %412 = llvm.mlir.constant(115 : i16) : i16
    %455 = llvm.mlir.constant(2 : i32) : i32
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r2 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    %r6 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r6 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r8 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r8 : i64, !llvm.ptr
    %r9 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r9 : i64, !llvm.ptr
    %r10 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r10 : i64, !llvm.ptr
    %r11 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r11 : i32, !llvm.ptr
    %r12 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %4, %r12 : i16, !llvm.ptr
    %r14 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r14 : i64, !llvm.ptr
    %r17 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %4, %r17 : i16, !llvm.ptr
    %r19 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %4, %r19 : i16, !llvm.ptr
    %r23 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r23 : i64, !llvm.ptr
    %r26 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r26 : i32, !llvm.ptr
    %r32 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r32 : i32, !llvm.ptr
    %r35 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r35 : i64, !llvm.ptr
    %r36 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r36 : i32, !llvm.ptr
    %r38 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r38 : i32, !llvm.ptr
    %r48 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r48 : i32, !llvm.ptr
    %r50 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r50 : i32, !llvm.ptr
    %r54 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r54 : i32, !llvm.ptr
    %r69 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r69 : i32, !llvm.ptr
    %r81 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %5, %r81 : i1, !llvm.ptr
    %r83 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r83 : i32, !llvm.ptr
    %r97 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r97 : i32, !llvm.ptr
    %r139 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r139 : i32, !llvm.ptr
    %6 = llvm.alloca %1 x !llvm.array<88 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %7 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %8 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %9 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %10 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %11 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %12 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %13 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %14 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %15 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %16 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %17 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %18 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %19 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %20 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %21 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %22 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %23 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %24 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %25 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %26 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %27 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %28 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %29 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %30 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %31 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %32 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %33 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %34 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %35 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %36 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %37 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %38 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %39 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %40 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %41 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %42 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %43 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %44 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %45 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %46 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %47 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %48 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %49 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %50 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %51 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %52 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %53 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %54 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %55 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    llvm.store %a0, %r3 : i64, !llvm.ptr
    llvm.store %a1, %r5 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %56 = llvm.ptrtoint %6 : !llvm.ptr to i64
    %57 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %57, %r2 : i64, !llvm.ptr
    %58 = llvm.load %r5 : !llvm.ptr -> i64
    llvm.store %58, %r4 : i64, !llvm.ptr
    %60 = llvm.add %56, %59 : i64
    llvm.store %60, %r6 : i64, !llvm.ptr
    %61 = llvm.add %56, %59 : i64
    llvm.store %61, %r7 : i64, !llvm.ptr
    %62 = llvm.add %56, %2 : i64
    llvm.store %62, %r8 : i64, !llvm.ptr
    %64 = llvm.add %56, %63 : i64
    llvm.store %64, %r9 : i64, !llvm.ptr
    %65 = llvm.load %r8 : !llvm.ptr -> i64
    llvm.store %65, %7 <alignment = 8> : i64, !llvm.ptr
    %66 = llvm.load %r9 : !llvm.ptr -> i64
    llvm.store %66, %8 <alignment = 8> : i64, !llvm.ptr
    %67 = llvm.load %7 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %68 = llvm.load %8 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %69 = llvm.call @open_memstream(%67, %68) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    llvm.store %69, %9 <alignment = 8> : !llvm.ptr, !llvm.ptr
    %70 = llvm.load %9 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %70, %r10 : i64, !llvm.ptr
    llvm.store %3, %r11 : i32, !llvm.ptr
    %71 = llvm.load %r2 : !llvm.ptr -> i64
    %72 = llvm.inttoptr %71 : i64 to !llvm.ptr
    %73 = llvm.load %72 <alignment = 1> : !llvm.ptr -> i8
    %74 = llvm.zext %73 : i8 to i16
    llvm.store %74, %r12 : i16, !llvm.ptr
    %75 = llvm.load %r12 : !llvm.ptr -> i16
    %76 = llvm.icmp "eq" %75, %4 : i16
    llvm.cond_br %76, ^b42, ^b1
  ^b1:
    llvm.store %3, %r11 : i32, !llvm.ptr
    llvm.br ^b2
  ^b2:
    %77 = llvm.load %r2 : !llvm.ptr -> i64
    %79 = llvm.add %77, %78 : i64
    llvm.store %79, %r14 : i64, !llvm.ptr
    %80 = llvm.load %r12 : !llvm.ptr -> i16
    %82 = llvm.icmp "eq" %80, %81 : i16
    llvm.cond_br %82, ^b4, ^b3
  ^b3:
    llvm.br ^b28
  ^b4:
    %83 = llvm.load %r7 : !llvm.ptr -> i64
    %84 = llvm.inttoptr %83 : i64 to !llvm.ptr
    %85 = llvm.getelementptr %84[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %85 <alignment = 4> : i32, !llvm.ptr
    llvm.store %4, %r17 : i16, !llvm.ptr
    %86 = llvm.load %r7 : !llvm.ptr -> i64
    %87 = llvm.inttoptr %86 : i64 to !llvm.ptr
    %88 = llvm.trunc %81 : i16 to i8
    llvm.store %88, %87 <alignment = 1> : i8, !llvm.ptr
    %89 = llvm.load %r17 : !llvm.ptr -> i16
    %90 = llvm.trunc %89 : i16 to i8
    %91 = llvm.getelementptr %87[1] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %90, %91 <alignment = 1> : i8, !llvm.ptr
    %92 = llvm.load %r14 : !llvm.ptr -> i64
    %93 = llvm.inttoptr %92 : i64 to !llvm.ptr
    %94 = llvm.load %93 <alignment = 1> : !llvm.ptr -> i8
    %95 = llvm.zext %94 : i8 to i16
    llvm.store %95, %r19 : i16, !llvm.ptr
    %96 = llvm.load %r19 : !llvm.ptr -> i16
    %97 = llvm.zext %96 : i16 to i32
    %98 = llvm.trunc %97 : i32 to i8
    %99 = llvm.sext %98 : i8 to i32
    %100 = llvm.mlir.addressof @check.variable.25 : !llvm.ptr
    %101 = llvm.ptrtoint %100 : !llvm.ptr to i64
    llvm.store %101, %r23 : i64, !llvm.ptr
    llvm.store %99, %10 <alignment = 4> : i32, !llvm.ptr
    %102 = llvm.load %r23 : !llvm.ptr -> i64
    llvm.store %102, %11 <alignment = 8> : i64, !llvm.ptr
    %103 = llvm.load %10 <alignment = 4> : !llvm.ptr -> i32
    %104 = llvm.load %11 <alignment = 8> : !llvm.ptr -> i64
    %105 = llvm.call @check.is_one_of.44(%103, %104) : (i32, i64) -> i32
    llvm.store %105, %12 <alignment = 4> : i32, !llvm.ptr
    %106 = llvm.load %12 <alignment = 4> : !llvm.ptr -> i32
    %107 = llvm.icmp "eq" %106, %3 : i32
    llvm.cond_br %107, ^b22, ^b5
  ^b5:
    llvm.store %3, %r26 : i32, !llvm.ptr
    llvm.br ^b6
  ^b6:
    %108 = llvm.load %r14 : !llvm.ptr -> i64
    llvm.store %108, %r2 : i64, !llvm.ptr
    %109 = llvm.load %r19 : !llvm.ptr -> i16
    %110 = llvm.zext %109 : i16 to i32
    %111 = llvm.trunc %110 : i32 to i8
    %112 = llvm.sext %111 : i8 to i32
    %113 = llvm.mlir.addressof @check.variable.26 : !llvm.ptr
    %114 = llvm.ptrtoint %113 : !llvm.ptr to i64
    llvm.store %112, %13 <alignment = 4> : i32, !llvm.ptr
    llvm.store %114, %14 <alignment = 8> : i64, !llvm.ptr
    %115 = llvm.load %13 <alignment = 4> : !llvm.ptr -> i32
    %116 = llvm.load %14 <alignment = 8> : !llvm.ptr -> i64
    %117 = llvm.call @check.is_one_of.44(%115, %116) : (i32, i64) -> i32
    llvm.store %117, %15 <alignment = 4> : i32, !llvm.ptr
    %118 = llvm.load %15 <alignment = 4> : !llvm.ptr -> i32
    %119 = llvm.load %r26 : !llvm.ptr -> i32
    %120 = llvm.or %118, %119 : i32
    llvm.store %120, %r32 : i32, !llvm.ptr
    %121 = llvm.load %r19 : !llvm.ptr -> i16
    %123 = llvm.icmp "eq" %121, %122 : i16
    llvm.cond_br %123, ^b8, ^b7
  ^b7:
    llvm.br ^b18
  ^b8:
    %124 = llvm.load %r4 : !llvm.ptr -> i64
    %126 = llvm.add %124, %125 : i64
    %128 = llvm.and %126, %127 : i64
    llvm.store %128, %r35 : i64, !llvm.ptr
    %129 = llvm.load %r35 : !llvm.ptr -> i64
    %130 = llvm.inttoptr %129 : i64 to !llvm.ptr
    %131 = llvm.load %130 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %131, %r36 : i32, !llvm.ptr
    %132 = llvm.load %r36 : !llvm.ptr -> i32
    %134 = llvm.icmp "sgt" %132, %133 : i32
    %135 = llvm.load %r7 : !llvm.ptr -> i64
    %136 = llvm.inttoptr %135 : i64 to !llvm.ptr
    %137 = llvm.getelementptr %136[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %138 = llvm.load %137 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %138, %r38 : i32, !llvm.ptr
    %139 = llvm.load %r38 : !llvm.ptr -> i32
    %141 = llvm.icmp "ugt" %139, %140 : i32
    %142 = llvm.or %134, %141 : i1
    llvm.cond_br %142, ^b10, ^b9
  ^b9:
    %143 = llvm.load %r38 : !llvm.ptr -> i32
    %144 = llvm.zext %143 : i32 to i64
    %145 = llvm.load %r38 : !llvm.ptr -> i32
    %146 = llvm.add %145, %1 : i32
    %147 = llvm.load %r7 : !llvm.ptr -> i64
    %148 = llvm.inttoptr %147 : i64 to !llvm.ptr
    %149 = llvm.getelementptr %148[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %146, %149 <alignment = 4> : i32, !llvm.ptr
    %150 = llvm.load %r7 : !llvm.ptr -> i64
    %151 = llvm.add %150, %144 : i64
    %153 = llvm.inttoptr %151 : i64 to !llvm.ptr
    %154 = llvm.trunc %152 : i16 to i8
    llvm.store %154, %153 <alignment = 1> : i8, !llvm.ptr
    %155 = llvm.load %r7 : !llvm.ptr -> i64
    %156 = llvm.inttoptr %155 : i64 to !llvm.ptr
    %157 = llvm.getelementptr %156[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %158 = llvm.load %157 <alignment = 4> : !llvm.ptr -> i32
    %159 = llvm.zext %158 : i32 to i64
    %160 = llvm.load %r7 : !llvm.ptr -> i64
    %161 = llvm.add %160, %159 : i64
    %162 = llvm.inttoptr %161 : i64 to !llvm.ptr
    %163 = llvm.trunc %4 : i16 to i8
    llvm.store %163, %162 <alignment = 1> : i8, !llvm.ptr
    llvm.br ^b10
  ^b10:
    %164 = llvm.load %r36 : !llvm.ptr -> i32
    %165 = llvm.sub %3, %164 : i32
    %166 = llvm.icmp "slt" %164, %3 : i32
    %167 = llvm.select %166, %165, %164 : i1, i32
    llvm.store %167, %r48 : i32, !llvm.ptr
    %168 = llvm.load %r48 : !llvm.ptr -> i32
    %170 = llvm.icmp "ult" %168, %169 : i32
    llvm.store %1, %r50 : i32, !llvm.ptr
    llvm.cond_br %170, ^b13, ^b11
  ^b11:
    llvm.store %1, %r50 : i32, !llvm.ptr
    llvm.br ^b12
  ^b12:
    %171 = llvm.load %r50 : !llvm.ptr -> i32
    %172 = llvm.mul %171, %169 : i32
    llvm.store %172, %r50 : i32, !llvm.ptr
    %173 = llvm.load %r48 : !llvm.ptr -> i32
    %174 = llvm.load %r50 : !llvm.ptr -> i32
    %175 = llvm.icmp "eq" %174, %3 : i32
    %176 = llvm.select %175, %1, %174 : i1, i32
    %177 = llvm.udiv %173, %176 : i32
    %178 = llvm.select %175, %133, %177 : i1, i32
    %180 = llvm.icmp "ugt" %178, %179 : i32
    llvm.cond_br %180, ^b12, ^b13
  ^b13:
    %181 = llvm.load %r35 : !llvm.ptr -> i64
    %183 = llvm.add %181, %182 : i64
    llvm.store %183, %r4 : i64, !llvm.ptr
    %184 = llvm.load %r11 : !llvm.ptr -> i32
    %185 = llvm.add %184, %1 : i32
    llvm.store %185, %r11 : i32, !llvm.ptr
    %186 = llvm.load %r50 : !llvm.ptr -> i32
    %187 = llvm.icmp "eq" %186, %3 : i32
    llvm.cond_br %187, ^b20, ^b14
  ^b14:
    %188 = llvm.load %r7 : !llvm.ptr -> i64
    %189 = llvm.inttoptr %188 : i64 to !llvm.ptr
    %190 = llvm.getelementptr %189[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %191 = llvm.load %190 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %191, %r54 : i32, !llvm.ptr
    %192 = llvm.load %r54 : !llvm.ptr -> i32
    %193 = llvm.icmp "ugt" %192, %140 : i32
    llvm.cond_br %193, ^b16, ^b15
  ^b15:
    %194 = llvm.load %r54 : !llvm.ptr -> i32
    %195 = llvm.zext %194 : i32 to i64
    %196 = llvm.load %r48 : !llvm.ptr -> i32
    %197 = llvm.load %r50 : !llvm.ptr -> i32
    %198 = llvm.icmp "eq" %197, %3 : i32
    %199 = llvm.select %198, %1, %197 : i1, i32
    %200 = llvm.udiv %196, %199 : i32
    %201 = llvm.select %198, %133, %200 : i1, i32
    %202 = llvm.trunc %201 : i32 to i16
    %204 = llvm.add %202, %203 : i16
    %205 = llvm.load %r54 : !llvm.ptr -> i32
    %206 = llvm.add %205, %1 : i32
    %207 = llvm.load %r7 : !llvm.ptr -> i64
    %208 = llvm.inttoptr %207 : i64 to !llvm.ptr
    %209 = llvm.getelementptr %208[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %206, %209 <alignment = 4> : i32, !llvm.ptr
    %210 = llvm.load %r7 : !llvm.ptr -> i64
    %211 = llvm.add %210, %195 : i64
    %212 = llvm.inttoptr %211 : i64 to !llvm.ptr
    %213 = llvm.trunc %204 : i16 to i8
    llvm.store %213, %212 <alignment = 1> : i8, !llvm.ptr
    %214 = llvm.load %r7 : !llvm.ptr -> i64
    %215 = llvm.inttoptr %214 : i64 to !llvm.ptr
    %216 = llvm.getelementptr %215[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %217 = llvm.load %216 <alignment = 4> : !llvm.ptr -> i32
    %218 = llvm.zext %217 : i32 to i64
    %219 = llvm.load %r7 : !llvm.ptr -> i64
    %220 = llvm.add %219, %218 : i64
    %221 = llvm.inttoptr %220 : i64 to !llvm.ptr
    %222 = llvm.trunc %4 : i16 to i8
    llvm.store %222, %221 <alignment = 1> : i8, !llvm.ptr
    llvm.br ^b16
  ^b16:
    %223 = llvm.load %r48 : !llvm.ptr -> i32
    %224 = llvm.load %r50 : !llvm.ptr -> i32
    %225 = llvm.icmp "eq" %224, %3 : i32
    %226 = llvm.select %225, %1, %224 : i1, i32
    %227 = llvm.urem %223, %226 : i32
    %228 = llvm.select %225, %133, %227 : i1, i32
    llvm.store %228, %r48 : i32, !llvm.ptr
    %229 = llvm.load %r50 : !llvm.ptr -> i32
    %231 = llvm.zext %229 : i32 to i64
    %232 = llvm.zext %230 : i32 to i64
    %233 = llvm.mul %231, %232 : i64
    %236 = llvm.icmp "uge" %234, %235 : i32
    %237 = llvm.select %236, %3, %234 : i1, i32
    %238 = llvm.zext %237 : i32 to i64
    %239 = llvm.lshr %233, %238 : i64
    %240 = llvm.select %236, %2, %239 : i1, i64
    %241 = llvm.trunc %240 : i64 to i32
    %242 = llvm.load %r50 : !llvm.ptr -> i32
    %243 = llvm.icmp "ugt" %242, %179 : i32
    llvm.store %241, %r50 : i32, !llvm.ptr
    llvm.cond_br %243, ^b14, ^b17
  ^b17:
    llvm.br ^b20
  ^b18:
    %244 = llvm.load %r7 : !llvm.ptr -> i64
    %245 = llvm.inttoptr %244 : i64 to !llvm.ptr
    %246 = llvm.getelementptr %245[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %247 = llvm.load %246 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %247, %r69 : i32, !llvm.ptr
    %248 = llvm.load %r69 : !llvm.ptr -> i32
    %249 = llvm.icmp "ugt" %248, %140 : i32
    llvm.cond_br %249, ^b20, ^b19
  ^b19:
    %250 = llvm.load %r69 : !llvm.ptr -> i32
    %251 = llvm.zext %250 : i32 to i64
    %252 = llvm.load %r69 : !llvm.ptr -> i32
    %253 = llvm.add %252, %1 : i32
    %254 = llvm.load %r7 : !llvm.ptr -> i64
    %255 = llvm.inttoptr %254 : i64 to !llvm.ptr
    %256 = llvm.getelementptr %255[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %253, %256 <alignment = 4> : i32, !llvm.ptr
    %257 = llvm.load %r7 : !llvm.ptr -> i64
    %258 = llvm.add %257, %251 : i64
    %259 = llvm.inttoptr %258 : i64 to !llvm.ptr
    %260 = llvm.load %r19 : !llvm.ptr -> i16
    %261 = llvm.trunc %260 : i16 to i8
    llvm.store %261, %259 <alignment = 1> : i8, !llvm.ptr
    %262 = llvm.load %r7 : !llvm.ptr -> i64
    %263 = llvm.inttoptr %262 : i64 to !llvm.ptr
    %264 = llvm.getelementptr %263[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %265 = llvm.load %264 <alignment = 4> : !llvm.ptr -> i32
    %266 = llvm.zext %265 : i32 to i64
    %267 = llvm.load %r7 : !llvm.ptr -> i64
    %268 = llvm.add %267, %266 : i64
    %269 = llvm.inttoptr %268 : i64 to !llvm.ptr
    %270 = llvm.trunc %4 : i16 to i8
    llvm.store %270, %269 <alignment = 1> : i8, !llvm.ptr
    llvm.br ^b20
  ^b20:
    %271 = llvm.load %r2 : !llvm.ptr -> i64
    %272 = llvm.add %271, %78 : i64
    llvm.store %272, %r14 : i64, !llvm.ptr
    %273 = llvm.load %r2 : !llvm.ptr -> i64
    %274 = llvm.inttoptr %273 : i64 to !llvm.ptr
    %275 = llvm.getelementptr %274[1] : (!llvm.ptr) -> !llvm.ptr, i8
    %276 = llvm.load %275 <alignment = 1> : !llvm.ptr -> i8
    %277 = llvm.zext %276 : i8 to i16
    llvm.store %277, %r19 : i16, !llvm.ptr
    %278 = llvm.load %r19 : !llvm.ptr -> i16
    %279 = llvm.zext %278 : i16 to i32
    %280 = llvm.trunc %279 : i32 to i8
    %281 = llvm.sext %280 : i8 to i32
    llvm.store %281, %16 <alignment = 4> : i32, !llvm.ptr
    %282 = llvm.load %r23 : !llvm.ptr -> i64
    llvm.store %282, %17 <alignment = 8> : i64, !llvm.ptr
    %283 = llvm.load %16 <alignment = 4> : !llvm.ptr -> i32
    %284 = llvm.load %17 <alignment = 8> : !llvm.ptr -> i64
    %285 = llvm.call @check.is_one_of.44(%283, %284) : (i32, i64) -> i32
    llvm.store %285, %18 <alignment = 4> : i32, !llvm.ptr
    %286 = llvm.load %18 <alignment = 4> : !llvm.ptr -> i32
    %287 = llvm.icmp "ne" %286, %3 : i32
    %288 = llvm.load %r32 : !llvm.ptr -> i32
    %289 = llvm.icmp "ne" %288, %3 : i32
    llvm.store %289, %r81 : i1, !llvm.ptr
    %290 = llvm.load %r81 : !llvm.ptr -> i1
    %291 = llvm.select %290, %1, %3 : i1, i32
    llvm.store %291, %r26 : i32, !llvm.ptr
    llvm.cond_br %287, ^b6, ^b21
  ^b21:
    %292 = llvm.load %r81 : !llvm.ptr -> i1
    %294 = llvm.select %292, %293, %4 : i1, i16
    llvm.store %294, %r17 : i16, !llvm.ptr
    llvm.br ^b22
  ^b22:
    %295 = llvm.load %r19 : !llvm.ptr -> i16
    %296 = llvm.icmp "eq" %295, %4 : i16
    llvm.cond_br %296, ^b42, ^b23
  ^b23:
    %297 = llvm.load %r2 : !llvm.ptr -> i64
    %299 = llvm.add %297, %298 : i64
    llvm.store %299, %r2 : i64, !llvm.ptr
    %300 = llvm.load %r7 : !llvm.ptr -> i64
    %301 = llvm.inttoptr %300 : i64 to !llvm.ptr
    %302 = llvm.getelementptr %301[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %303 = llvm.load %302 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %303, %r83 : i32, !llvm.ptr
    %304 = llvm.load %r83 : !llvm.ptr -> i32
    %305 = llvm.icmp "ugt" %304, %140 : i32
    llvm.cond_br %305, ^b25, ^b24
  ^b24:
    %306 = llvm.load %r83 : !llvm.ptr -> i32
    %307 = llvm.zext %306 : i32 to i64
    %308 = llvm.load %r83 : !llvm.ptr -> i32
    %309 = llvm.add %308, %1 : i32
    %310 = llvm.load %r7 : !llvm.ptr -> i64
    %311 = llvm.inttoptr %310 : i64 to !llvm.ptr
    %312 = llvm.getelementptr %311[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %309, %312 <alignment = 4> : i32, !llvm.ptr
    %313 = llvm.load %r7 : !llvm.ptr -> i64
    %314 = llvm.add %313, %307 : i64
    %315 = llvm.inttoptr %314 : i64 to !llvm.ptr
    %316 = llvm.load %r19 : !llvm.ptr -> i16
    %317 = llvm.trunc %316 : i16 to i8
    llvm.store %317, %315 <alignment = 1> : i8, !llvm.ptr
    %318 = llvm.load %r7 : !llvm.ptr -> i64
    %319 = llvm.inttoptr %318 : i64 to !llvm.ptr
    %320 = llvm.getelementptr %319[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %321 = llvm.load %320 <alignment = 4> : !llvm.ptr -> i32
    %322 = llvm.zext %321 : i32 to i64
    %323 = llvm.load %r7 : !llvm.ptr -> i64
    %324 = llvm.add %323, %322 : i64
    %325 = llvm.inttoptr %324 : i64 to !llvm.ptr
    %326 = llvm.trunc %4 : i16 to i8
    llvm.store %326, %325 <alignment = 1> : i8, !llvm.ptr
    llvm.br ^b25
  ^b25:
    %327 = llvm.load %r19 : !llvm.ptr -> i16
    %328 = llvm.icmp "eq" %327, %81 : i16
    llvm.cond_br %328, ^b27, ^b26
  ^b26:
    llvm.br ^b29
  ^b27:
    llvm.store %329, %19 <alignment = 4> : i32, !llvm.ptr
    %330 = llvm.load %r10 : !llvm.ptr -> i64
    llvm.store %330, %20 <alignment = 8> : i64, !llvm.ptr
    %331 = llvm.load %19 <alignment = 4> : !llvm.ptr -> i32
    %332 = llvm.load %20 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %333 = llvm.call @fputc(%331, %332) : (i32, !llvm.ptr) -> i32
    llvm.store %333, %21 <alignment = 4> : i32, !llvm.ptr
    %334 = llvm.load %21 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b41
  ^b28:
    %335 = llvm.load %r12 : !llvm.ptr -> i16
    %336 = llvm.zext %335 : i16 to i32
    %337 = llvm.trunc %336 : i32 to i8
    %338 = llvm.sext %337 : i8 to i32
    llvm.store %338, %22 <alignment = 4> : i32, !llvm.ptr
    %339 = llvm.load %r10 : !llvm.ptr -> i64
    llvm.store %339, %23 <alignment = 8> : i64, !llvm.ptr
    %340 = llvm.load %22 <alignment = 4> : !llvm.ptr -> i32
    %341 = llvm.load %23 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %342 = llvm.call @fputc(%340, %341) : (i32, !llvm.ptr) -> i32
    llvm.store %342, %24 <alignment = 4> : i32, !llvm.ptr
    %343 = llvm.load %24 <alignment = 4> : !llvm.ptr -> i32
    %344 = llvm.load %r14 : !llvm.ptr -> i64
    llvm.store %344, %r2 : i64, !llvm.ptr
    llvm.br ^b41
  ^b29:
    %345 = llvm.load %r19 : !llvm.ptr -> i16
    %346 = llvm.zext %345 : i16 to i32
    %347 = llvm.trunc %346 : i32 to i8
    %348 = llvm.sext %347 : i8 to i32
    llvm.store %348, %r97 : i32, !llvm.ptr
    %349 = llvm.mlir.addressof @check.variable.27 : !llvm.ptr
    %350 = llvm.ptrtoint %349 : !llvm.ptr to i64
    %351 = llvm.load %r97 : !llvm.ptr -> i32
    llvm.store %351, %25 <alignment = 4> : i32, !llvm.ptr
    llvm.store %350, %26 <alignment = 8> : i64, !llvm.ptr
    %352 = llvm.load %25 <alignment = 4> : !llvm.ptr -> i32
    %353 = llvm.load %26 <alignment = 8> : !llvm.ptr -> i64
    %354 = llvm.call @check.is_one_of.44(%352, %353) : (i32, i64) -> i32
    llvm.store %354, %27 <alignment = 4> : i32, !llvm.ptr
    %355 = llvm.load %27 <alignment = 4> : !llvm.ptr -> i32
    %356 = llvm.icmp "eq" %355, %3 : i32
    llvm.cond_br %356, ^b31, ^b30
  ^b30:
    %357 = llvm.load %r4 : !llvm.ptr -> i64
    %359 = llvm.add %357, %358 : i64
    %361 = llvm.and %359, %360 : i64
    %362 = llvm.add %361, %63 : i64
    llvm.store %362, %r4 : i64, !llvm.ptr
    %363 = llvm.load %r11 : !llvm.ptr -> i32
    %364 = llvm.add %363, %1 : i32
    llvm.store %364, %r11 : i32, !llvm.ptr
    %365 = llvm.inttoptr %361 : i64 to !llvm.ptr
    %366 = llvm.load %365 <alignment = 8> : !llvm.ptr -> i64
    %367 = llvm.load %r10 : !llvm.ptr -> i64
    llvm.store %367, %28 <alignment = 8> : i64, !llvm.ptr
    %368 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %368, %29 <alignment = 8> : i64, !llvm.ptr
    llvm.store %366, %30 <alignment = 8> : i64, !llvm.ptr
    %369 = llvm.load %28 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %370 = llvm.load %29 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %371 = llvm.load %30 <alignment = 8> : !llvm.ptr -> f64
    %372 = llvm.call @fprintf(%369, %370, %371)vararg(!llvm.func<i32 (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, f64) -> i32
    llvm.store %372, %31 <alignment = 4> : i32, !llvm.ptr
    %373 = llvm.load %31 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b41
  ^b31:
    %374 = llvm.load %r19 : !llvm.ptr -> i16
    %376 = llvm.icmp "eq" %374, %375 : i16
    llvm.cond_br %376, ^b33, ^b32
  ^b32:
    llvm.br ^b34
  ^b33:
    %377 = llvm.load %r4 : !llvm.ptr -> i64
    %378 = llvm.add %377, %125 : i64
    %379 = llvm.and %378, %127 : i64
    %380 = llvm.add %379, %182 : i64
    llvm.store %380, %r4 : i64, !llvm.ptr
    %381 = llvm.load %r11 : !llvm.ptr -> i32
    %382 = llvm.add %381, %1 : i32
    llvm.store %382, %r11 : i32, !llvm.ptr
    %383 = llvm.inttoptr %379 : i64 to !llvm.ptr
    %384 = llvm.load %383 <alignment = 4> : !llvm.ptr -> i32
    %385 = llvm.load %r10 : !llvm.ptr -> i64
    llvm.store %385, %32 <alignment = 8> : i64, !llvm.ptr
    %386 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %386, %33 <alignment = 8> : i64, !llvm.ptr
    llvm.store %384, %34 <alignment = 4> : i32, !llvm.ptr
    %387 = llvm.load %32 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %388 = llvm.load %33 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %389 = llvm.load %34 <alignment = 4> : !llvm.ptr -> i32
    %390 = llvm.call @fprintf(%387, %388, %389)vararg(!llvm.func<i32 (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, i32) -> i32
    llvm.store %390, %35 <alignment = 4> : i32, !llvm.ptr
    %391 = llvm.load %35 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b41
  ^b34:
    %392 = llvm.load %r17 : !llvm.ptr -> i16
    %393 = llvm.icmp "ne" %392, %4 : i16
    llvm.cond_br %393, ^b36, ^b35
  ^b35:
    llvm.br ^b38
  ^b36:
    %394 = llvm.mlir.addressof @check.variable.29 : !llvm.ptr
    %395 = llvm.ptrtoint %394 : !llvm.ptr to i64
    %396 = llvm.load %r97 : !llvm.ptr -> i32
    llvm.store %396, %36 <alignment = 4> : i32, !llvm.ptr
    llvm.store %395, %37 <alignment = 8> : i64, !llvm.ptr
    %397 = llvm.load %36 <alignment = 4> : !llvm.ptr -> i32
    %398 = llvm.load %37 <alignment = 8> : !llvm.ptr -> i64
    %399 = llvm.call @check.is_one_of.44(%397, %398) : (i32, i64) -> i32
    llvm.store %399, %38 <alignment = 4> : i32, !llvm.ptr
    %400 = llvm.load %38 <alignment = 4> : !llvm.ptr -> i32
    %401 = llvm.icmp "eq" %400, %3 : i32
    llvm.cond_br %401, ^b40, ^b37
  ^b37:
    %402 = llvm.load %r4 : !llvm.ptr -> i64
    %403 = llvm.add %402, %358 : i64
    %404 = llvm.and %403, %360 : i64
    %405 = llvm.add %404, %63 : i64
    llvm.store %405, %r4 : i64, !llvm.ptr
    %406 = llvm.load %r11 : !llvm.ptr -> i32
    %407 = llvm.add %406, %1 : i32
    llvm.store %407, %r11 : i32, !llvm.ptr
    %408 = llvm.inttoptr %404 : i64 to !llvm.ptr
    %409 = llvm.load %408 <alignment = 8> : !llvm.ptr -> i64
    %410 = llvm.icmp "eq" %409, %2 : i64
    %411 = llvm.load %r19 : !llvm.ptr -> i16
    %413 = llvm.icmp "eq" %411, %412 : i16
    %414 = llvm.and %413, %410 : i1
    %415 = llvm.mlir.addressof @check.variable.30 : !llvm.ptr
    %416 = llvm.ptrtoint %415 : !llvm.ptr to i64
    %417 = llvm.select %414, %416, %409 : i1, i64
    %418 = llvm.load %r10 : !llvm.ptr -> i64
    llvm.store %418, %39 <alignment = 8> : i64, !llvm.ptr
    %419 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %419, %40 <alignment = 8> : i64, !llvm.ptr
    llvm.store %417, %41 <alignment = 8> : i64, !llvm.ptr
    %420 = llvm.load %39 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %421 = llvm.load %40 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %422 = llvm.load %41 <alignment = 8> : !llvm.ptr -> i64
    %423 = llvm.call @fprintf(%420, %421, %422)vararg(!llvm.func<i32 (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, i64) -> i32
    llvm.store %423, %42 <alignment = 4> : i32, !llvm.ptr
    %424 = llvm.load %42 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b41
  ^b38:
    %425 = llvm.mlir.addressof @check.variable.28 : !llvm.ptr
    %426 = llvm.ptrtoint %425 : !llvm.ptr to i64
    %427 = llvm.load %r97 : !llvm.ptr -> i32
    llvm.store %427, %43 <alignment = 4> : i32, !llvm.ptr
    llvm.store %426, %44 <alignment = 8> : i64, !llvm.ptr
    %428 = llvm.load %43 <alignment = 4> : !llvm.ptr -> i32
    %429 = llvm.load %44 <alignment = 8> : !llvm.ptr -> i64
    %430 = llvm.call @check.is_one_of.44(%428, %429) : (i32, i64) -> i32
    llvm.store %430, %45 <alignment = 4> : i32, !llvm.ptr
    %431 = llvm.load %45 <alignment = 4> : !llvm.ptr -> i32
    %432 = llvm.icmp "ne" %431, %3 : i32
    llvm.cond_br %432, ^b33, ^b39
  ^b39:
    llvm.br ^b36
  ^b40:
    %433 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %433, %46 <alignment = 8> : i64, !llvm.ptr
    %434 = llvm.load %r10 : !llvm.ptr -> i64
    llvm.store %434, %47 <alignment = 8> : i64, !llvm.ptr
    %435 = llvm.load %46 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %436 = llvm.load %47 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %437 = llvm.call @fputs(%435, %436) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.store %437, %48 <alignment = 4> : i32, !llvm.ptr
    %438 = llvm.load %48 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b41
  ^b41:
    %439 = llvm.load %r2 : !llvm.ptr -> i64
    %440 = llvm.inttoptr %439 : i64 to !llvm.ptr
    %441 = llvm.load %440 <alignment = 1> : !llvm.ptr -> i8
    %442 = llvm.zext %441 : i8 to i16
    llvm.store %442, %r12 : i16, !llvm.ptr
    %443 = llvm.load %r12 : !llvm.ptr -> i16
    %444 = llvm.icmp "ne" %443, %4 : i16
    llvm.cond_br %444, ^b2, ^b42
  ^b42:
    %445 = llvm.load %r8 : !llvm.ptr -> i64
    %446 = llvm.load %r10 : !llvm.ptr -> i64
    llvm.store %446, %49 <alignment = 8> : i64, !llvm.ptr
    %447 = llvm.load %49 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %448 = llvm.call @fclose(%447) : (!llvm.ptr) -> i32
    llvm.store %448, %50 <alignment = 4> : i32, !llvm.ptr
    %449 = llvm.load %50 <alignment = 4> : !llvm.ptr -> i32
    %450 = llvm.inttoptr %445 : i64 to !llvm.ptr
    %451 = llvm.load %450 <alignment = 8> : !llvm.ptr -> i64
    %452 = llvm.load %r9 : !llvm.ptr -> i64
    %453 = llvm.inttoptr %452 : i64 to !llvm.ptr
    %454 = llvm.load %453 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %455, %51 <alignment = 4> : i32, !llvm.ptr
    llvm.store %451, %52 <alignment = 8> : i64, !llvm.ptr
    llvm.store %454, %53 <alignment = 8> : i64, !llvm.ptr
    %456 = llvm.load %51 <alignment = 4> : !llvm.ptr -> i32
    %457 = llvm.load %52 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %458 = llvm.load %53 <alignment = 8> : !llvm.ptr -> i64
    %459 = llvm.call @write(%456, %457, %458) : (i32, !llvm.ptr, i64) -> i64
    llvm.store %459, %54 <alignment = 8> : i64, !llvm.ptr
    %460 = llvm.load %54 <alignment = 8> : !llvm.ptr -> i64
    %461 = llvm.inttoptr %445 : i64 to !llvm.ptr
    %462 = llvm.load %461 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %462, %55 <alignment = 8> : i64, !llvm.ptr
    %463 = llvm.load %55 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    llvm.call @free(%463) : (!llvm.ptr) -> ()
    %464 = llvm.load %r11 : !llvm.ptr -> i32
    llvm.store %464, %r139 : i32, !llvm.ptr
    llvm.br ^exit
  ^b43:
    llvm.br ^exit
  ^exit:
    %465 = llvm.load %r139 : !llvm.ptr -> i32
    llvm.return %465 : i32
  }
  llvm.func internal @check.begins(%a0: i64, %a1: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i16) : i16
    %4 = llvm.mlir.constant(0 : i32) : i32
    %14 = llvm.mlir.constant(1 : i64) : i64
    %r0 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i64, !llvm.ptr
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r2 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %3, %r4 : i16, !llvm.ptr
    %r6 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %4, %r6 : i32, !llvm.ptr
    %r10 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %4, %r10 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %5 = llvm.load %r1 : !llvm.ptr -> i64
    llvm.store %5, %r0 : i64, !llvm.ptr
    %6 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %6, %r2 : i64, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %7 = llvm.load %r2 : !llvm.ptr -> i64
    %8 = llvm.inttoptr %7 : i64 to !llvm.ptr
    %9 = llvm.load %8 <alignment = 1> : !llvm.ptr -> i8
    %10 = llvm.zext %9 : i8 to i16
    llvm.store %10, %r4 : i16, !llvm.ptr
    %11 = llvm.load %r4 : !llvm.ptr -> i16
    %12 = llvm.icmp "eq" %11, %3 : i16
    llvm.store %1, %r6 : i32, !llvm.ptr
    llvm.cond_br %12, ^b3, ^b2
  ^b2:
    %13 = llvm.load %r0 : !llvm.ptr -> i64
    %15 = llvm.add %13, %14 : i64
    %16 = llvm.load %r2 : !llvm.ptr -> i64
    %17 = llvm.add %16, %14 : i64
    llvm.store %17, %r2 : i64, !llvm.ptr
    %18 = llvm.load %r0 : !llvm.ptr -> i64
    %19 = llvm.inttoptr %18 : i64 to !llvm.ptr
    %20 = llvm.load %19 <alignment = 1> : !llvm.ptr -> i8
    %21 = llvm.zext %20 : i8 to i16
    %22 = llvm.load %r4 : !llvm.ptr -> i16
    %23 = llvm.icmp "eq" %21, %22 : i16
    llvm.store %4, %r6 : i32, !llvm.ptr
    llvm.store %15, %r0 : i64, !llvm.ptr
    llvm.cond_br %23, ^b1, ^b3
  ^b3:
    %24 = llvm.load %r6 : !llvm.ptr -> i32
    llvm.store %24, %r10 : i32, !llvm.ptr
    llvm.br ^exit
  ^b4:
    llvm.br ^exit
  ^exit:
    %25 = llvm.load %r10 : !llvm.ptr -> i32
    llvm.return %25 : i32
  }
  llvm.func internal @check.findings(%a0: i64) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %15 = llvm.mlir.constant(1 : i64) : i64
    %22 = llvm.mlir.constant(8192 : i32) : i32
    %24 = llvm.mlir.constant(0 : i16) : i16
    %r0 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i64, !llvm.ptr
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r2 : i32, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    llvm.store %4, %r0 : i64, !llvm.ptr
    llvm.store %3, %r2 : i32, !llvm.ptr
    %5 = llvm.mlir.addressof @check.variable.17 : !llvm.ptr
    %6 = llvm.ptrtoint %5 : !llvm.ptr to i64
    llvm.store %6, %r3 : i64, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %7 = llvm.load %r3 : !llvm.ptr -> i64
    %8 = llvm.inttoptr %7 : i64 to !llvm.ptr
    %9 = llvm.load %8 <alignment = 1> : !llvm.ptr -> i8
    %10 = llvm.zext %9 : i8 to i16
    %11 = llvm.load %r0 : !llvm.ptr -> i64
    %12 = llvm.inttoptr %11 : i64 to !llvm.ptr
    %13 = llvm.trunc %10 : i16 to i8
    llvm.store %13, %12 <alignment = 1> : i8, !llvm.ptr
    %14 = llvm.load %r0 : !llvm.ptr -> i64
    %16 = llvm.add %14, %15 : i64
    llvm.store %16, %r0 : i64, !llvm.ptr
    %17 = llvm.load %r3 : !llvm.ptr -> i64
    %18 = llvm.add %17, %15 : i64
    llvm.store %18, %r3 : i64, !llvm.ptr
    %19 = llvm.load %r2 : !llvm.ptr -> i32
    %20 = llvm.add %19, %1 : i32
    llvm.store %20, %r2 : i32, !llvm.ptr
    %21 = llvm.load %r2 : !llvm.ptr -> i32
    %23 = llvm.icmp "ne" %21, %22 : i32
    llvm.cond_br %23, ^b1, ^b2
  ^b2:
    %25 = llvm.mlir.addressof @check.variable.17 : !llvm.ptr
    %26 = llvm.trunc %24 : i16 to i8
    llvm.store %26, %25 <alignment = 1> : i8, !llvm.ptr
    %27 = llvm.mlir.addressof @check.variable.18 : !llvm.ptr
    llvm.store %3, %27 <alignment = 4> : i32, !llvm.ptr
    %28 = llvm.mlir.addressof @check.variable.22 : !llvm.ptr
    llvm.store %3, %28 <alignment = 4> : i32, !llvm.ptr
    %29 = llvm.mlir.addressof @check.variable.20 : !llvm.ptr
    llvm.store %1, %29 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^exit
  ^b3:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.diverged(%a0: i64, %a1: i64, %a2: i64, %a3: i64, %a4: i32) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.mlir.constant(0 : i16) : i16
    %5 = llvm.mlir.constant(false) : i1
    %11 = llvm.mlir.constant(16 : i64) : i64
    %23 = llvm.mlir.constant(40 : i64) : i64
    %27 = llvm.mlir.constant(31 : i32) : i32
    %35 = llvm.mlir.constant(4 : i32) : i32
    %44 = llvm.mlir.constant(2 : i32) : i32
    %45 = llvm.mlir.constant(64 : i32) : i32
    %63 = llvm.mlir.constant(32 : i32) : i32
    %80 = llvm.mlir.constant(-1 : i32) : i32
    %94 = llvm.mlir.constant(24 : i32) : i32
    %102 = llvm.mlir.constant(16 : i16) : i16
    %106 = llvm.mlir.constant(255 : i16) : i16
    %126 = llvm.mlir.constant(1 : i16) : i16
    %137 = llvm.mlir.constant(12 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r2 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    %r6 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r6 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r8 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r8 : i32, !llvm.ptr
    %r9 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r9 : i32, !llvm.ptr
    %r10 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r10 : i64, !llvm.ptr
    %r11 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r11 : i64, !llvm.ptr
    %r12 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r12 : i32, !llvm.ptr
    %r14 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r14 : i32, !llvm.ptr
    %r15 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r15 : i64, !llvm.ptr
    %r16 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r16 : i32, !llvm.ptr
    %r17 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %4, %r17 : i16, !llvm.ptr
    %r18 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r18 : i32, !llvm.ptr
    %r21 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r21 : i64, !llvm.ptr
    %r23 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r23 : i64, !llvm.ptr
    %r25 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r25 : i64, !llvm.ptr
    %r36 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r36 : i32, !llvm.ptr
    %r41 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r41 : i32, !llvm.ptr
    %r49 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %5, %r49 : i1, !llvm.ptr
    %r52 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r52 : i32, !llvm.ptr
    %r57 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r57 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i64, !llvm.ptr
    llvm.store %a2, %r5 : i64, !llvm.ptr
    llvm.store %a3, %r7 : i64, !llvm.ptr
    llvm.store %a4, %r9 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %6 = llvm.load %r1 : !llvm.ptr -> i64
    %7 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %7, %r2 : i64, !llvm.ptr
    %8 = llvm.load %r5 : !llvm.ptr -> i64
    llvm.store %8, %r4 : i64, !llvm.ptr
    %9 = llvm.load %r7 : !llvm.ptr -> i64
    llvm.store %9, %r6 : i64, !llvm.ptr
    %10 = llvm.load %r9 : !llvm.ptr -> i32
    llvm.store %10, %r8 : i32, !llvm.ptr
    %12 = llvm.add %6, %11 : i64
    llvm.store %12, %r10 : i64, !llvm.ptr
    %13 = llvm.inttoptr %6 : i64 to !llvm.ptr
    %14 = llvm.getelementptr %13[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %15 = llvm.load %14 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %15, %r11 : i64, !llvm.ptr
    %16 = llvm.load %r11 : !llvm.ptr -> i64
    %17 = llvm.inttoptr %16 : i64 to !llvm.ptr
    %18 = llvm.getelementptr %17[12] : (!llvm.ptr) -> !llvm.ptr, i8
    %19 = llvm.load %18 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %19, %r12 : i32, !llvm.ptr
    %20 = llvm.load %r12 : !llvm.ptr -> i32
    %21 = llvm.icmp "eq" %20, %3 : i32
    llvm.store %3, %r14 : i32, !llvm.ptr
    llvm.cond_br %21, ^b13, ^b1
  ^b1:
    %22 = llvm.load %r11 : !llvm.ptr -> i64
    %24 = llvm.add %22, %23 : i64
    llvm.store %24, %r15 : i64, !llvm.ptr
    llvm.store %3, %r16 : i32, !llvm.ptr
    llvm.store %4, %r17 : i16, !llvm.ptr
    %25 = llvm.load %r16 : !llvm.ptr -> i32
    llvm.store %25, %r18 : i32, !llvm.ptr
    llvm.br ^b2
  ^b2:
    %26 = llvm.load %r16 : !llvm.ptr -> i32
    %28 = llvm.and %26, %27 : i32
    %29 = llvm.icmp "eq" %28, %3 : i32
    %30 = llvm.load %r17 : !llvm.ptr -> i16
    %31 = llvm.select %29, %4, %30 : i1, i16
    llvm.store %31, %r17 : i16, !llvm.ptr
    %32 = llvm.load %r16 : !llvm.ptr -> i32
    %33 = llvm.zext %32 : i32 to i64
    llvm.store %33, %r21 : i64, !llvm.ptr
    %34 = llvm.load %r16 : !llvm.ptr -> i32
    %36 = llvm.zext %34 : i32 to i64
    %37 = llvm.zext %35 : i32 to i64
    %38 = llvm.mul %36, %37 : i64
    %39 = llvm.load %r2 : !llvm.ptr -> i64
    %40 = llvm.add %39, %38 : i64
    llvm.store %40, %r23 : i64, !llvm.ptr
    %41 = llvm.load %r4 : !llvm.ptr -> i64
    %42 = llvm.icmp "eq" %41, %2 : i64
    llvm.cond_br %42, ^b6, ^b3
  ^b3:
    %43 = llvm.load %r21 : !llvm.ptr -> i64
    %46 = llvm.icmp "uge" %44, %45 : i32
    %47 = llvm.select %46, %3, %44 : i1, i32
    %48 = llvm.zext %47 : i32 to i64
    %49 = llvm.shl %43, %48 : i64
    %50 = llvm.select %46, %2, %49 : i1, i64
    llvm.store %50, %r25 : i64, !llvm.ptr
    %51 = llvm.load %r4 : !llvm.ptr -> i64
    %52 = llvm.load %r25 : !llvm.ptr -> i64
    %53 = llvm.add %51, %52 : i64
    %54 = llvm.inttoptr %53 : i64 to !llvm.ptr
    %55 = llvm.load %54 <alignment = 4> : !llvm.ptr -> i32
    %56 = llvm.icmp "ne" %55, %44 : i32
    llvm.cond_br %56, ^b12, ^b4
  ^b4:
    %57 = llvm.load %r6 : !llvm.ptr -> i64
    %58 = llvm.load %r25 : !llvm.ptr -> i64
    %59 = llvm.add %57, %58 : i64
    %60 = llvm.inttoptr %59 : i64 to !llvm.ptr
    %61 = llvm.load %60 <alignment = 4> : !llvm.ptr -> i32
    %62 = llvm.and %61, %27 : i32
    %64 = llvm.icmp "uge" %62, %63 : i32
    %65 = llvm.select %64, %3, %62 : i1, i32
    %66 = llvm.shl %1, %65 : i32
    %67 = llvm.select %64, %3, %66 : i1, i32
    %68 = llvm.load %r8 : !llvm.ptr -> i32
    %69 = llvm.and %67, %68 : i32
    %70 = llvm.icmp "eq" %69, %3 : i32
    llvm.cond_br %70, ^b12, ^b5
  ^b5:
    %71 = llvm.load %r23 : !llvm.ptr -> i64
    %72 = llvm.inttoptr %71 : i64 to !llvm.ptr
    %73 = llvm.load %72 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %73, %r36 : i32, !llvm.ptr
    llvm.br ^b7
  ^b6:
    %74 = llvm.load %r23 : !llvm.ptr -> i64
    %75 = llvm.inttoptr %74 : i64 to !llvm.ptr
    %76 = llvm.load %75 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %76, %r36 : i32, !llvm.ptr
    %77 = llvm.load %r36 : !llvm.ptr -> i32
    %78 = llvm.icmp "slt" %77, %1 : i32
    llvm.cond_br %78, ^b12, ^b7
  ^b7:
    %79 = llvm.load %r36 : !llvm.ptr -> i32
    %81 = llvm.add %79, %80 : i32
    %82 = llvm.sext %81 : i32 to i64
    %83 = llvm.sext %35 : i32 to i64
    %84 = llvm.mul %82, %83 : i64
    %85 = llvm.load %r15 : !llvm.ptr -> i64
    %86 = llvm.add %85, %84 : i64
    %87 = llvm.inttoptr %86 : i64 to !llvm.ptr
    %88 = llvm.load %87 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %88, %r41 : i32, !llvm.ptr
    %89 = llvm.load %r10 : !llvm.ptr -> i64
    %90 = llvm.inttoptr %89 : i64 to !llvm.ptr
    %91 = llvm.getelementptr %90[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %92 = llvm.load %91 <alignment = 8> : !llvm.ptr -> i64
    %93 = llvm.load %r41 : !llvm.ptr -> i32
    %95 = llvm.zext %93 : i32 to i64
    %96 = llvm.zext %94 : i32 to i64
    %97 = llvm.mul %95, %96 : i64
    %98 = llvm.add %92, %97 : i64
    %99 = llvm.inttoptr %98 : i64 to !llvm.ptr
    %100 = llvm.load %99 <alignment = 1> : !llvm.ptr -> i8
    %101 = llvm.zext %100 : i8 to i16
    %103 = llvm.and %101, %102 : i16
    %104 = llvm.icmp "eq" %103, %4 : i16
    llvm.cond_br %104, ^b12, ^b8
  ^b8:
    %105 = llvm.load %r17 : !llvm.ptr -> i16
    %107 = llvm.and %105, %106 : i16
    %108 = llvm.icmp "eq" %107, %4 : i16
    llvm.store %108, %r49 : i1, !llvm.ptr
    %109 = llvm.load %r49 : !llvm.ptr -> i1
    llvm.cond_br %109, ^b11, ^b9
  ^b9:
    %110 = llvm.load %r18 : !llvm.ptr -> i32
    %111 = llvm.zext %110 : i32 to i64
    %112 = llvm.zext %35 : i32 to i64
    %113 = llvm.mul %111, %112 : i64
    %114 = llvm.load %r2 : !llvm.ptr -> i64
    %115 = llvm.add %114, %113 : i64
    %116 = llvm.inttoptr %115 : i64 to !llvm.ptr
    %117 = llvm.load %116 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %117, %r52 : i32, !llvm.ptr
    %118 = llvm.load %r36 : !llvm.ptr -> i32
    %119 = llvm.load %r52 : !llvm.ptr -> i32
    %120 = llvm.icmp "eq" %118, %119 : i32
    llvm.cond_br %120, ^b11, ^b10
  ^b10:
    llvm.br ^b14
  ^b11:
    %121 = llvm.load %r21 : !llvm.ptr -> i64
    %122 = llvm.trunc %121 : i64 to i32
    %123 = llvm.load %r49 : !llvm.ptr -> i1
    %124 = llvm.load %r18 : !llvm.ptr -> i32
    %125 = llvm.select %123, %122, %124 : i1, i32
    llvm.store %125, %r18 : i32, !llvm.ptr
    llvm.store %126, %r17 : i16, !llvm.ptr
    llvm.br ^b12
  ^b12:
    %127 = llvm.load %r21 : !llvm.ptr -> i64
    %128 = llvm.trunc %127 : i64 to i32
    %129 = llvm.add %128, %1 : i32
    llvm.store %129, %r16 : i32, !llvm.ptr
    %130 = llvm.load %r16 : !llvm.ptr -> i32
    %131 = llvm.load %r12 : !llvm.ptr -> i32
    %132 = llvm.icmp "ult" %130, %131 : i32
    llvm.store %3, %r14 : i32, !llvm.ptr
    llvm.cond_br %132, ^b2, ^b13
  ^b13:
    %133 = llvm.load %r14 : !llvm.ptr -> i32
    llvm.store %133, %r57 : i32, !llvm.ptr
    llvm.br ^exit
  ^b14:
    %134 = llvm.load %r21 : !llvm.ptr -> i64
    %135 = llvm.trunc %134 : i64 to i32
    %136 = llvm.load %r41 : !llvm.ptr -> i32
    %138 = llvm.icmp "uge" %137, %63 : i32
    %139 = llvm.select %138, %3, %137 : i1, i32
    %140 = llvm.shl %136, %139 : i32
    %141 = llvm.select %138, %3, %140 : i1, i32
    %142 = llvm.load %r52 : !llvm.ptr -> i32
    %143 = llvm.add %142, %80 : i32
    %144 = llvm.sext %143 : i32 to i64
    %145 = llvm.sext %35 : i32 to i64
    %146 = llvm.mul %144, %145 : i64
    %147 = llvm.load %r15 : !llvm.ptr -> i64
    %148 = llvm.add %147, %146 : i64
    llvm.store %1, %r14 : i32, !llvm.ptr
    %149 = llvm.inttoptr %148 : i64 to !llvm.ptr
    %150 = llvm.load %149 <alignment = 4> : !llvm.ptr -> i32
    %151 = llvm.load %r10 : !llvm.ptr -> i64
    %152 = llvm.inttoptr %151 : i64 to !llvm.ptr
    %153 = llvm.getelementptr %152[208] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %137, %153 <alignment = 4> : i32, !llvm.ptr
    %154 = llvm.load %r18 : !llvm.ptr -> i32
    %155 = llvm.getelementptr %153[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %154, %155 <alignment = 4> : i32, !llvm.ptr
    %156 = llvm.or %141, %135 : i32
    %157 = llvm.load %r10 : !llvm.ptr -> i64
    %158 = llvm.inttoptr %157 : i64 to !llvm.ptr
    %159 = llvm.getelementptr %158[216] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %150, %159 <alignment = 4> : i32, !llvm.ptr
    %160 = llvm.getelementptr %159[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %156, %160 <alignment = 4> : i32, !llvm.ptr
    %161 = llvm.load %r10 : !llvm.ptr -> i64
    %162 = llvm.inttoptr %161 : i64 to !llvm.ptr
    %163 = llvm.getelementptr %162[224] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %163 <alignment = 8> : i64, !llvm.ptr
    %164 = llvm.load %r10 : !llvm.ptr -> i64
    %165 = llvm.inttoptr %164 : i64 to !llvm.ptr
    %166 = llvm.getelementptr %165[232] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %166 <alignment = 8> : i64, !llvm.ptr
    %167 = llvm.load %r10 : !llvm.ptr -> i64
    %168 = llvm.inttoptr %167 : i64 to !llvm.ptr
    %169 = llvm.getelementptr %168[240] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %169 <alignment = 8> : i64, !llvm.ptr
    %170 = llvm.load %r10 : !llvm.ptr -> i64
    %171 = llvm.inttoptr %170 : i64 to !llvm.ptr
    %172 = llvm.getelementptr %171[248] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %172 <alignment = 8> : i64, !llvm.ptr
    %173 = llvm.load %r10 : !llvm.ptr -> i64
    %174 = llvm.inttoptr %173 : i64 to !llvm.ptr
    %175 = llvm.getelementptr %174[76] : (!llvm.ptr) -> !llvm.ptr, i8
    %176 = llvm.load %r14 : !llvm.ptr -> i32
    llvm.store %176, %175 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b13
  ^b15:
    llvm.br ^exit
  ^exit:
    %177 = llvm.load %r57 : !llvm.ptr -> i32
    llvm.return %177 : i32
  }
  llvm.func internal @check.absent(%a0: i64, %a1: i32, %a2: i32, %a3: i32) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %8 = llvm.mlir.constant(16 : i64) : i64
    %13 = llvm.mlir.constant(-1 : i32) : i32
    %15 = llvm.mlir.constant(4 : i32) : i32
    %31 = llvm.mlir.constant(24 : i64) : i64
    %37 = llvm.mlir.constant(32 : i16) : i16
    %39 = llvm.mlir.constant(0 : i16) : i16
    %49 = llvm.mlir.constant(15 : i32) : i32
    %69 = llvm.mlir.constant(13 : i32) : i32
    %83 = llvm.mlir.constant(false) : i1
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r2 : i32, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r5 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i32, !llvm.ptr
    %r6 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r6 : i32, !llvm.ptr
    %r7 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r7 : i32, !llvm.ptr
    %r8 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r8 : i64, !llvm.ptr
    %r13 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r13 : i64, !llvm.ptr
    %r21 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r21 : i32, !llvm.ptr
    %r24 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r24 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.store %a2, %r5 : i32, !llvm.ptr
    llvm.store %a3, %r7 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.load %r3 : !llvm.ptr -> i32
    llvm.store %5, %r2 : i32, !llvm.ptr
    %6 = llvm.load %r5 : !llvm.ptr -> i32
    %7 = llvm.load %r7 : !llvm.ptr -> i32
    llvm.store %7, %r6 : i32, !llvm.ptr
    %9 = llvm.add %4, %8 : i64
    llvm.store %9, %r8 : i64, !llvm.ptr
    %10 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %11 = llvm.getelementptr %10[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %12 = llvm.load %11 <alignment = 8> : !llvm.ptr -> i64
    %14 = llvm.add %6, %13 : i32
    %16 = llvm.sext %14 : i32 to i64
    %17 = llvm.sext %15 : i32 to i64
    %18 = llvm.mul %16, %17 : i64
    %19 = llvm.add %12, %18 : i64
    %20 = llvm.inttoptr %19 : i64 to !llvm.ptr
    %21 = llvm.getelementptr %20[40] : (!llvm.ptr) -> !llvm.ptr, i8
    %22 = llvm.load %21 <alignment = 4> : !llvm.ptr -> i32
    %23 = llvm.zext %22 : i32 to i64
    llvm.store %23, %r13 : i64, !llvm.ptr
    %24 = llvm.load %r6 : !llvm.ptr -> i32
    %25 = llvm.icmp "eq" %24, %3 : i32
    llvm.cond_br %25, ^b6, ^b1
  ^b1:
    %26 = llvm.load %r8 : !llvm.ptr -> i64
    %27 = llvm.inttoptr %26 : i64 to !llvm.ptr
    %28 = llvm.getelementptr %27[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %29 = llvm.load %28 <alignment = 8> : !llvm.ptr -> i64
    %30 = llvm.load %r13 : !llvm.ptr -> i64
    %32 = llvm.mul %30, %31 : i64
    %33 = llvm.add %29, %32 : i64
    %34 = llvm.inttoptr %33 : i64 to !llvm.ptr
    %35 = llvm.load %34 <alignment = 1> : !llvm.ptr -> i8
    %36 = llvm.zext %35 : i8 to i16
    %38 = llvm.and %36, %37 : i16
    %40 = llvm.icmp "eq" %38, %39 : i16
    llvm.cond_br %40, ^b6, ^b2
  ^b2:
    %41 = llvm.load %r8 : !llvm.ptr -> i64
    %42 = llvm.inttoptr %41 : i64 to !llvm.ptr
    %43 = llvm.getelementptr %42[100] : (!llvm.ptr) -> !llvm.ptr, i8
    %44 = llvm.load %43 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %44, %r21 : i32, !llvm.ptr
    %45 = llvm.load %r8 : !llvm.ptr -> i64
    %46 = llvm.inttoptr %45 : i64 to !llvm.ptr
    %47 = llvm.getelementptr %46[160] : (!llvm.ptr) -> !llvm.ptr, i8
    %48 = llvm.load %47 <alignment = 4> : !llvm.ptr -> i32
    %50 = llvm.icmp "eq" %48, %49 : i32
    llvm.store %1, %r24 : i32, !llvm.ptr
    llvm.cond_br %50, ^b4, ^b3
  ^b3:
    %51 = llvm.load %r8 : !llvm.ptr -> i64
    %52 = llvm.inttoptr %51 : i64 to !llvm.ptr
    %53 = llvm.getelementptr %52[104] : (!llvm.ptr) -> !llvm.ptr, i8
    %54 = llvm.load %53 <alignment = 4> : !llvm.ptr -> i32
    %55 = llvm.icmp "ne" %54, %3 : i32
    %56 = llvm.select %55, %1, %3 : i1, i32
    llvm.store %56, %r24 : i32, !llvm.ptr
    llvm.br ^b4
  ^b4:
    %57 = llvm.load %r21 : !llvm.ptr -> i32
    %58 = llvm.icmp "eq" %57, %3 : i32
    %59 = llvm.select %58, %1, %3 : i1, i32
    %60 = llvm.load %r24 : !llvm.ptr -> i32
    %61 = llvm.or %60, %59 : i32
    %62 = llvm.icmp "eq" %61, %3 : i32
    llvm.cond_br %62, ^b6, ^b5
  ^b5:
    %63 = llvm.load %r8 : !llvm.ptr -> i64
    %64 = llvm.inttoptr %63 : i64 to !llvm.ptr
    %65 = llvm.getelementptr %64[100] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %65 <alignment = 4> : i32, !llvm.ptr
    %66 = llvm.load %r8 : !llvm.ptr -> i64
    %67 = llvm.inttoptr %66 : i64 to !llvm.ptr
    %68 = llvm.getelementptr %67[104] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %68 <alignment = 4> : i32, !llvm.ptr
    %70 = llvm.load %r8 : !llvm.ptr -> i64
    %71 = llvm.inttoptr %70 : i64 to !llvm.ptr
    %72 = llvm.getelementptr %71[160] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %69, %72 <alignment = 4> : i32, !llvm.ptr
    %73 = llvm.load %r2 : !llvm.ptr -> i32
    %74 = llvm.getelementptr %72[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %73, %74 <alignment = 4> : i32, !llvm.ptr
    %75 = llvm.load %r13 : !llvm.ptr -> i64
    %76 = llvm.trunc %75 : i64 to i32
    %77 = llvm.load %r8 : !llvm.ptr -> i64
    %78 = llvm.inttoptr %77 : i64 to !llvm.ptr
    %79 = llvm.getelementptr %78[168] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %76, %79 <alignment = 4> : i32, !llvm.ptr
    %80 = llvm.getelementptr %79[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %80 <alignment = 4> : i32, !llvm.ptr
    %81 = llvm.load %r6 : !llvm.ptr -> i32
    %82 = llvm.call_intrinsic "llvm.bitreverse"(%81) : (i32) -> i32
    %84 = llvm.call_intrinsic "llvm.ctlz"(%82, %83) : (i32, i1) -> i32
    %85 = llvm.icmp "eq" %82, %3 : i32
    %86 = llvm.select %85, %13, %84 : i1, i32
    %87 = llvm.sext %86 : i32 to i64
    %88 = llvm.load %r8 : !llvm.ptr -> i64
    %89 = llvm.inttoptr %88 : i64 to !llvm.ptr
    %90 = llvm.getelementptr %89[176] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %87, %90 <alignment = 8> : i64, !llvm.ptr
    %91 = llvm.load %r8 : !llvm.ptr -> i64
    %92 = llvm.inttoptr %91 : i64 to !llvm.ptr
    %93 = llvm.getelementptr %92[184] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %93 <alignment = 8> : i64, !llvm.ptr
    %94 = llvm.load %r8 : !llvm.ptr -> i64
    %95 = llvm.inttoptr %94 : i64 to !llvm.ptr
    %96 = llvm.getelementptr %95[192] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %96 <alignment = 8> : i64, !llvm.ptr
    %97 = llvm.load %r8 : !llvm.ptr -> i64
    %98 = llvm.inttoptr %97 : i64 to !llvm.ptr
    %99 = llvm.getelementptr %98[200] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %99 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^b6
  ^b6:
    llvm.br ^exit
  ^b7:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.deadlock(%a0: i64, %a1: i64, %a2: i64, %a3: i64) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.mlir.constant(false) : i1
    %9 = llvm.mlir.constant(16 : i64) : i64
    %25 = llvm.mlir.constant(4 : i32) : i32
    %45 = llvm.mlir.constant(-1 : i32) : i32
    %52 = llvm.mlir.constant(40 : i64) : i64
    %58 = llvm.mlir.constant(2 : i32) : i32
    %59 = llvm.mlir.constant(64 : i32) : i32
    %110 = llvm.mlir.constant(true) : i1
    %123 = llvm.mlir.constant(9 : i32) : i32
    %163 = llvm.mlir.constant(12 : i32) : i32
    %164 = llvm.mlir.constant(32 : i32) : i32
    %169 = llvm.mlir.constant(8 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r2 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    %r6 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r6 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r8 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r8 : i64, !llvm.ptr
    %r9 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r9 : i64, !llvm.ptr
    %r10 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r10 : i32, !llvm.ptr
    %r11 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r11 : i32, !llvm.ptr
    %r12 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r12 : i32, !llvm.ptr
    %r18 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r18 : i64, !llvm.ptr
    %r21 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r21 : i32, !llvm.ptr
    %r25 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r25 : i64, !llvm.ptr
    %r28 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r28 : i64, !llvm.ptr
    %r29 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r29 : i64, !llvm.ptr
    %r30 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r30 : i32, !llvm.ptr
    %r31 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r31 : i64, !llvm.ptr
    %r34 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r34 : i32, !llvm.ptr
    %r36 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %4, %r36 : i1, !llvm.ptr
    %r43 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r43 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i64, !llvm.ptr
    llvm.store %a2, %r5 : i64, !llvm.ptr
    llvm.store %a3, %r7 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %5 = llvm.load %r1 : !llvm.ptr -> i64
    %6 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %6, %r2 : i64, !llvm.ptr
    %7 = llvm.load %r5 : !llvm.ptr -> i64
    llvm.store %7, %r4 : i64, !llvm.ptr
    %8 = llvm.load %r7 : !llvm.ptr -> i64
    llvm.store %8, %r6 : i64, !llvm.ptr
    %10 = llvm.add %5, %9 : i64
    llvm.store %10, %r8 : i64, !llvm.ptr
    %11 = llvm.inttoptr %5 : i64 to !llvm.ptr
    %12 = llvm.getelementptr %11[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %13 = llvm.load %12 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %13, %r9 : i64, !llvm.ptr
    %14 = llvm.load %r9 : !llvm.ptr -> i64
    %15 = llvm.inttoptr %14 : i64 to !llvm.ptr
    %16 = llvm.getelementptr %15[12] : (!llvm.ptr) -> !llvm.ptr, i8
    %17 = llvm.load %16 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %17, %r10 : i32, !llvm.ptr
    llvm.store %3, %r11 : i32, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %18 = llvm.load %r11 : !llvm.ptr -> i32
    llvm.store %18, %r12 : i32, !llvm.ptr
    %19 = llvm.load %r12 : !llvm.ptr -> i32
    %20 = llvm.add %19, %1 : i32
    llvm.store %20, %r11 : i32, !llvm.ptr
    %21 = llvm.load %r11 : !llvm.ptr -> i32
    %22 = llvm.load %r10 : !llvm.ptr -> i32
    %23 = llvm.icmp "ult" %21, %22 : i32
    llvm.cond_br %23, ^b3, ^b2
  ^b2:
    llvm.br ^b4
  ^b3:
    %24 = llvm.load %r12 : !llvm.ptr -> i32
    %26 = llvm.zext %24 : i32 to i64
    %27 = llvm.zext %25 : i32 to i64
    %28 = llvm.mul %26, %27 : i64
    %29 = llvm.load %r4 : !llvm.ptr -> i64
    %30 = llvm.add %29, %28 : i64
    %31 = llvm.inttoptr %30 : i64 to !llvm.ptr
    %32 = llvm.load %31 <alignment = 4> : !llvm.ptr -> i32
    %33 = llvm.icmp "eq" %32, %1 : i32
    llvm.cond_br %33, ^b1, ^b4
  ^b4:
    %34 = llvm.load %r12 : !llvm.ptr -> i32
    %35 = llvm.zext %34 : i32 to i64
    llvm.store %35, %r18 : i64, !llvm.ptr
    %36 = llvm.load %r12 : !llvm.ptr -> i32
    %37 = llvm.zext %36 : i32 to i64
    %38 = llvm.zext %25 : i32 to i64
    %39 = llvm.mul %37, %38 : i64
    %40 = llvm.load %r2 : !llvm.ptr -> i64
    %41 = llvm.add %40, %39 : i64
    %42 = llvm.inttoptr %41 : i64 to !llvm.ptr
    %43 = llvm.load %42 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %43, %r21 : i32, !llvm.ptr
    %44 = llvm.load %r21 : !llvm.ptr -> i32
    %46 = llvm.add %44, %45 : i32
    %47 = llvm.sext %46 : i32 to i64
    %48 = llvm.sext %25 : i32 to i64
    %49 = llvm.mul %47, %48 : i64
    %50 = llvm.load %r9 : !llvm.ptr -> i64
    %51 = llvm.add %50, %49 : i64
    %53 = llvm.add %51, %52 : i64
    llvm.store %53, %r25 : i64, !llvm.ptr
    %54 = llvm.load %r12 : !llvm.ptr -> i32
    %55 = llvm.load %r10 : !llvm.ptr -> i32
    %56 = llvm.icmp "uge" %54, %55 : i32
    llvm.cond_br %56, ^b13, ^b5
  ^b5:
    %57 = llvm.load %r18 : !llvm.ptr -> i64
    %60 = llvm.icmp "uge" %58, %59 : i32
    %61 = llvm.select %60, %3, %58 : i1, i32
    %62 = llvm.zext %61 : i32 to i64
    %63 = llvm.shl %57, %62 : i64
    %64 = llvm.select %60, %2, %63 : i1, i64
    %65 = llvm.load %r6 : !llvm.ptr -> i64
    %66 = llvm.add %65, %64 : i64
    llvm.store %66, %r28 : i64, !llvm.ptr
    %67 = llvm.load %r4 : !llvm.ptr -> i64
    %68 = llvm.add %67, %64 : i64
    llvm.store %68, %r29 : i64, !llvm.ptr
    %69 = llvm.load %r12 : !llvm.ptr -> i32
    llvm.store %69, %r30 : i32, !llvm.ptr
    llvm.br ^b6
  ^b6:
    %70 = llvm.load %r30 : !llvm.ptr -> i32
    %71 = llvm.zext %70 : i32 to i64
    llvm.store %71, %r31 : i64, !llvm.ptr
    %72 = llvm.load %r30 : !llvm.ptr -> i32
    %73 = llvm.zext %72 : i32 to i64
    %74 = llvm.zext %25 : i32 to i64
    %75 = llvm.mul %73, %74 : i64
    %76 = llvm.load %r2 : !llvm.ptr -> i64
    %77 = llvm.add %76, %75 : i64
    %78 = llvm.inttoptr %77 : i64 to !llvm.ptr
    %79 = llvm.load %78 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %79, %r34 : i32, !llvm.ptr
    %80 = llvm.load %r34 : !llvm.ptr -> i32
    %81 = llvm.load %r21 : !llvm.ptr -> i32
    %82 = llvm.icmp "ne" %80, %81 : i32
    llvm.store %4, %r36 : i1, !llvm.ptr
    llvm.cond_br %82, ^b8, ^b7
  ^b7:
    %83 = llvm.load %r31 : !llvm.ptr -> i64
    %84 = llvm.icmp "uge" %58, %59 : i32
    %85 = llvm.select %84, %3, %58 : i1, i32
    %86 = llvm.zext %85 : i32 to i64
    %87 = llvm.shl %83, %86 : i64
    %88 = llvm.select %84, %2, %87 : i1, i64
    %89 = llvm.load %r6 : !llvm.ptr -> i64
    %90 = llvm.add %89, %88 : i64
    %91 = llvm.load %r28 : !llvm.ptr -> i64
    %92 = llvm.inttoptr %91 : i64 to !llvm.ptr
    %93 = llvm.load %92 <alignment = 4> : !llvm.ptr -> i32
    %94 = llvm.inttoptr %90 : i64 to !llvm.ptr
    %95 = llvm.load %94 <alignment = 4> : !llvm.ptr -> i32
    %96 = llvm.icmp "eq" %95, %93 : i32
    llvm.store %96, %r36 : i1, !llvm.ptr
    llvm.br ^b8
  ^b8:
    %97 = llvm.load %r31 : !llvm.ptr -> i64
    %98 = llvm.icmp "uge" %58, %59 : i32
    %99 = llvm.select %98, %3, %58 : i1, i32
    %100 = llvm.zext %99 : i32 to i64
    %101 = llvm.shl %97, %100 : i64
    %102 = llvm.select %98, %2, %101 : i1, i64
    %103 = llvm.load %r4 : !llvm.ptr -> i64
    %104 = llvm.add %103, %102 : i64
    %105 = llvm.inttoptr %104 : i64 to !llvm.ptr
    %106 = llvm.load %105 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %106, %r43 : i32, !llvm.ptr
    %107 = llvm.load %r43 : !llvm.ptr -> i32
    %108 = llvm.icmp "eq" %107, %1 : i32
    llvm.cond_br %108, ^b12, ^b9
  ^b9:
    %109 = llvm.load %r36 : !llvm.ptr -> i1
    %111 = llvm.xor %109, %110 : i1
    llvm.cond_br %111, ^b14, ^b10
  ^b10:
    %112 = llvm.load %r29 : !llvm.ptr -> i64
    %113 = llvm.inttoptr %112 : i64 to !llvm.ptr
    %114 = llvm.load %113 <alignment = 4> : !llvm.ptr -> i32
    %115 = llvm.load %r43 : !llvm.ptr -> i32
    %116 = llvm.icmp "eq" %115, %114 : i32
    llvm.cond_br %116, ^b12, ^b11
  ^b11:
    llvm.br ^b14
  ^b12:
    %117 = llvm.load %r31 : !llvm.ptr -> i64
    %118 = llvm.trunc %117 : i64 to i32
    %119 = llvm.add %118, %1 : i32
    llvm.store %119, %r30 : i32, !llvm.ptr
    %120 = llvm.load %r30 : !llvm.ptr -> i32
    %121 = llvm.load %r10 : !llvm.ptr -> i32
    %122 = llvm.icmp "ult" %120, %121 : i32
    llvm.cond_br %122, ^b6, ^b13
  ^b13:
    %124 = llvm.load %r25 : !llvm.ptr -> i64
    %125 = llvm.inttoptr %124 : i64 to !llvm.ptr
    %126 = llvm.load %125 <alignment = 4> : !llvm.ptr -> i32
    %127 = llvm.load %r8 : !llvm.ptr -> i64
    %128 = llvm.inttoptr %127 : i64 to !llvm.ptr
    %129 = llvm.getelementptr %128[208] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %123, %129 <alignment = 4> : i32, !llvm.ptr
    %130 = llvm.load %r12 : !llvm.ptr -> i32
    %131 = llvm.getelementptr %129[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %130, %131 <alignment = 4> : i32, !llvm.ptr
    %132 = llvm.load %r8 : !llvm.ptr -> i64
    %133 = llvm.inttoptr %132 : i64 to !llvm.ptr
    %134 = llvm.getelementptr %133[216] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %126, %134 <alignment = 4> : i32, !llvm.ptr
    %135 = llvm.getelementptr %134[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %3, %135 <alignment = 4> : i32, !llvm.ptr
    %136 = llvm.load %r8 : !llvm.ptr -> i64
    %137 = llvm.inttoptr %136 : i64 to !llvm.ptr
    %138 = llvm.getelementptr %137[224] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %138 <alignment = 8> : i64, !llvm.ptr
    %139 = llvm.load %r8 : !llvm.ptr -> i64
    %140 = llvm.inttoptr %139 : i64 to !llvm.ptr
    %141 = llvm.getelementptr %140[232] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %141 <alignment = 8> : i64, !llvm.ptr
    %142 = llvm.load %r8 : !llvm.ptr -> i64
    %143 = llvm.inttoptr %142 : i64 to !llvm.ptr
    %144 = llvm.getelementptr %143[240] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %144 <alignment = 8> : i64, !llvm.ptr
    %145 = llvm.load %r8 : !llvm.ptr -> i64
    %146 = llvm.inttoptr %145 : i64 to !llvm.ptr
    %147 = llvm.getelementptr %146[248] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %147 <alignment = 8> : i64, !llvm.ptr
    %148 = llvm.load %r8 : !llvm.ptr -> i64
    %149 = llvm.inttoptr %148 : i64 to !llvm.ptr
    %150 = llvm.getelementptr %149[76] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %150 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b15
  ^b14:
    %151 = llvm.load %r31 : !llvm.ptr -> i64
    %152 = llvm.trunc %151 : i64 to i32
    %153 = llvm.load %r34 : !llvm.ptr -> i32
    %154 = llvm.add %153, %45 : i32
    %155 = llvm.sext %154 : i32 to i64
    %156 = llvm.sext %25 : i32 to i64
    %157 = llvm.mul %155, %156 : i64
    %158 = llvm.load %r9 : !llvm.ptr -> i64
    %159 = llvm.add %158, %157 : i64
    %160 = llvm.inttoptr %159 : i64 to !llvm.ptr
    %161 = llvm.getelementptr %160[40] : (!llvm.ptr) -> !llvm.ptr, i8
    %162 = llvm.load %161 <alignment = 4> : !llvm.ptr -> i32
    %165 = llvm.icmp "uge" %163, %164 : i32
    %166 = llvm.select %165, %3, %163 : i1, i32
    %167 = llvm.shl %162, %166 : i32
    %168 = llvm.select %165, %3, %167 : i1, i32
    %170 = llvm.load %r25 : !llvm.ptr -> i64
    %171 = llvm.inttoptr %170 : i64 to !llvm.ptr
    %172 = llvm.load %171 <alignment = 4> : !llvm.ptr -> i32
    %173 = llvm.load %r8 : !llvm.ptr -> i64
    %174 = llvm.inttoptr %173 : i64 to !llvm.ptr
    %175 = llvm.getelementptr %174[208] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %169, %175 <alignment = 4> : i32, !llvm.ptr
    %176 = llvm.load %r12 : !llvm.ptr -> i32
    %177 = llvm.getelementptr %175[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %176, %177 <alignment = 4> : i32, !llvm.ptr
    %178 = llvm.or %168, %152 : i32
    %179 = llvm.load %r8 : !llvm.ptr -> i64
    %180 = llvm.inttoptr %179 : i64 to !llvm.ptr
    %181 = llvm.getelementptr %180[216] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %172, %181 <alignment = 4> : i32, !llvm.ptr
    %182 = llvm.getelementptr %181[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %178, %182 <alignment = 4> : i32, !llvm.ptr
    %183 = llvm.load %r8 : !llvm.ptr -> i64
    %184 = llvm.inttoptr %183 : i64 to !llvm.ptr
    %185 = llvm.getelementptr %184[224] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %185 <alignment = 8> : i64, !llvm.ptr
    %186 = llvm.load %r8 : !llvm.ptr -> i64
    %187 = llvm.inttoptr %186 : i64 to !llvm.ptr
    %188 = llvm.getelementptr %187[232] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %188 <alignment = 8> : i64, !llvm.ptr
    %189 = llvm.load %r8 : !llvm.ptr -> i64
    %190 = llvm.inttoptr %189 : i64 to !llvm.ptr
    %191 = llvm.getelementptr %190[240] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %191 <alignment = 8> : i64, !llvm.ptr
    %192 = llvm.load %r8 : !llvm.ptr -> i64
    %193 = llvm.inttoptr %192 : i64 to !llvm.ptr
    %194 = llvm.getelementptr %193[248] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %194 <alignment = 8> : i64, !llvm.ptr
    %195 = llvm.load %r8 : !llvm.ptr -> i64
    %196 = llvm.inttoptr %195 : i64 to !llvm.ptr
    %197 = llvm.getelementptr %196[76] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %197 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b15
  ^b15:
    llvm.br ^exit
  ^b16:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.begin(%a0: i64, %a1: i64, %a2: i64, %a3: i64, %a4: i32, %a5: i32, %a6: i32) -> i64 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %15 = llvm.mlir.constant(32 : i64) : i64
    %27 = llvm.mlir.constant(31 : i32) : i32
    %29 = llvm.mlir.constant(264 : i32) : i32
    %42 = llvm.mlir.constant(16 : i32) : i32
    %46 = llvm.mlir.constant(63 : i64) : i64
    %48 = llvm.mlir.constant(137438953408 : i64) : i64
    %54 = llvm.mlir.constant(24 : i32) : i32
    %62 = llvm.mlir.constant(32 : i32) : i32
    %68 = llvm.mlir.constant(-64 : i64) : i64
    %71 = llvm.mlir.constant(274877906880 : i64) : i64
    %88 = llvm.mlir.constant(2816 : i64) : i64
    %90 = llvm.mlir.constant(1 : i64) : i64
    %103 = llvm.mlir.constant(2752 : i64) : i64
    %r0 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i64, !llvm.ptr
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r2 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    %r6 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r6 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r8 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r8 : i32, !llvm.ptr
    %r9 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r9 : i32, !llvm.ptr
    %r10 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r10 : i32, !llvm.ptr
    %r11 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r11 : i32, !llvm.ptr
    %r12 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r12 : i32, !llvm.ptr
    %r13 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r13 : i32, !llvm.ptr
    %r14 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r14 : i64, !llvm.ptr
    %r16 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r16 : i64, !llvm.ptr
    %r18 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r18 : i64, !llvm.ptr
    %r27 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r27 : i64, !llvm.ptr
    %r32 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r32 : i64, !llvm.ptr
    %r34 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r34 : i64, !llvm.ptr
    %r36 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r36 : i64, !llvm.ptr
    %r43 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r43 : i64, !llvm.ptr
    %r54 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r54 : i64, !llvm.ptr
    %4 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %5 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %6 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i64, !llvm.ptr
    llvm.store %a2, %r5 : i64, !llvm.ptr
    llvm.store %a3, %r7 : i64, !llvm.ptr
    llvm.store %a4, %r9 : i32, !llvm.ptr
    llvm.store %a5, %r11 : i32, !llvm.ptr
    llvm.store %a6, %r13 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %7 = llvm.load %r1 : !llvm.ptr -> i64
    llvm.store %7, %r0 : i64, !llvm.ptr
    %8 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %8, %r2 : i64, !llvm.ptr
    %9 = llvm.load %r5 : !llvm.ptr -> i64
    llvm.store %9, %r4 : i64, !llvm.ptr
    %10 = llvm.load %r7 : !llvm.ptr -> i64
    llvm.store %10, %r6 : i64, !llvm.ptr
    %11 = llvm.load %r9 : !llvm.ptr -> i32
    llvm.store %11, %r8 : i32, !llvm.ptr
    %12 = llvm.load %r11 : !llvm.ptr -> i32
    llvm.store %12, %r10 : i32, !llvm.ptr
    %13 = llvm.load %r13 : !llvm.ptr -> i32
    llvm.store %13, %r12 : i32, !llvm.ptr
    %14 = llvm.load %r0 : !llvm.ptr -> i64
    %16 = llvm.add %14, %15 : i64
    llvm.store %16, %r14 : i64, !llvm.ptr
    %17 = llvm.load %r0 : !llvm.ptr -> i64
    %18 = llvm.inttoptr %17 : i64 to !llvm.ptr
    %19 = llvm.getelementptr %18[32] : (!llvm.ptr) -> !llvm.ptr, i8
    %20 = llvm.load %19 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %2, %r16 : i64, !llvm.ptr
    %21 = llvm.icmp "eq" %20, %3 : i32
    %22 = llvm.load %r16 : !llvm.ptr -> i64
    llvm.store %22, %r18 : i64, !llvm.ptr
    llvm.cond_br %21, ^b2, ^b1
  ^b1:
    %23 = llvm.load %r14 : !llvm.ptr -> i64
    %24 = llvm.inttoptr %23 : i64 to !llvm.ptr
    %25 = llvm.getelementptr %24[-20] : (!llvm.ptr) -> !llvm.ptr, i8
    %26 = llvm.load %25 <alignment = 4> : !llvm.ptr -> i32
    %28 = llvm.add %26, %27 : i32
    %30 = llvm.zext %28 : i32 to i64
    %31 = llvm.zext %29 : i32 to i64
    %32 = llvm.mul %30, %31 : i64
    llvm.store %32, %r18 : i64, !llvm.ptr
    llvm.br ^b2
  ^b2:
    %33 = llvm.load %r14 : !llvm.ptr -> i64
    %34 = llvm.inttoptr %33 : i64 to !llvm.ptr
    %35 = llvm.getelementptr %34[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %36 = llvm.load %35 <alignment = 4> : !llvm.ptr -> i32
    %37 = llvm.icmp "eq" %36, %3 : i32
    llvm.cond_br %37, ^b4, ^b3
  ^b3:
    %38 = llvm.load %r14 : !llvm.ptr -> i64
    %39 = llvm.inttoptr %38 : i64 to !llvm.ptr
    %40 = llvm.getelementptr %39[-20] : (!llvm.ptr) -> !llvm.ptr, i8
    %41 = llvm.load %40 <alignment = 4> : !llvm.ptr -> i32
    %43 = llvm.zext %41 : i32 to i64
    %44 = llvm.zext %42 : i32 to i64
    %45 = llvm.mul %43, %44 : i64
    %47 = llvm.add %45, %46 : i64
    %49 = llvm.and %47, %48 : i64
    llvm.store %49, %r16 : i64, !llvm.ptr
    llvm.br ^b4
  ^b4:
    %50 = llvm.load %r14 : !llvm.ptr -> i64
    %51 = llvm.inttoptr %50 : i64 to !llvm.ptr
    %52 = llvm.getelementptr %51[-16] : (!llvm.ptr) -> !llvm.ptr, i8
    %53 = llvm.load %52 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %2, %r27 : i64, !llvm.ptr
    %55 = llvm.zext %53 : i32 to i64
    %56 = llvm.zext %54 : i32 to i64
    %57 = llvm.mul %55, %56 : i64
    %58 = llvm.load %r14 : !llvm.ptr -> i64
    %59 = llvm.inttoptr %58 : i64 to !llvm.ptr
    %60 = llvm.getelementptr %59[-4] : (!llvm.ptr) -> !llvm.ptr, i8
    %61 = llvm.load %60 <alignment = 4> : !llvm.ptr -> i32
    %63 = llvm.zext %61 : i32 to i64
    %64 = llvm.zext %62 : i32 to i64
    %65 = llvm.mul %63, %64 : i64
    %66 = llvm.load %r18 : !llvm.ptr -> i64
    %67 = llvm.add %66, %46 : i64
    %69 = llvm.and %67, %68 : i64
    llvm.store %69, %r32 : i64, !llvm.ptr
    %70 = llvm.add %57, %46 : i64
    %72 = llvm.and %70, %71 : i64
    llvm.store %72, %r34 : i64, !llvm.ptr
    %73 = llvm.add %65, %46 : i64
    %74 = llvm.and %73, %71 : i64
    llvm.store %74, %r36 : i64, !llvm.ptr
    %75 = llvm.load %r14 : !llvm.ptr -> i64
    %76 = llvm.inttoptr %75 : i64 to !llvm.ptr
    %77 = llvm.getelementptr %76[-12] : (!llvm.ptr) -> !llvm.ptr, i8
    %78 = llvm.load %77 <alignment = 4> : !llvm.ptr -> i32
    %79 = llvm.zext %78 : i32 to i64
    %80 = llvm.load %r32 : !llvm.ptr -> i64
    %81 = llvm.load %r16 : !llvm.ptr -> i64
    %82 = llvm.add %80, %81 : i64
    %83 = llvm.add %82, %79 : i64
    %84 = llvm.load %r34 : !llvm.ptr -> i64
    %85 = llvm.add %83, %84 : i64
    %86 = llvm.load %r36 : !llvm.ptr -> i64
    %87 = llvm.add %85, %86 : i64
    %89 = llvm.add %87, %88 : i64
    llvm.store %89, %4 <alignment = 8> : i64, !llvm.ptr
    llvm.store %90, %5 <alignment = 8> : i64, !llvm.ptr
    %91 = llvm.load %4 <alignment = 8> : !llvm.ptr -> i64
    %92 = llvm.load %5 <alignment = 8> : !llvm.ptr -> i64
    %93 = llvm.call @calloc(%91, %92) : (i64, i64) -> !llvm.ptr
    llvm.store %93, %6 <alignment = 8> : !llvm.ptr, !llvm.ptr
    %94 = llvm.load %6 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %94, %r43 : i64, !llvm.ptr
    %95 = llvm.load %r43 : !llvm.ptr -> i64
    %96 = llvm.icmp "eq" %95, %2 : i64
    llvm.cond_br %96, ^b8, ^b5
  ^b5:
    %97 = llvm.load %r43 : !llvm.ptr -> i64
    %98 = llvm.add %97, %46 : i64
    %99 = llvm.and %98, %68 : i64
    llvm.store %99, %r27 : i64, !llvm.ptr
    %100 = llvm.load %r18 : !llvm.ptr -> i64
    %101 = llvm.icmp "eq" %100, %2 : i64
    llvm.cond_br %101, ^b7, ^b6
  ^b6:
    %102 = llvm.load %r27 : !llvm.ptr -> i64
    %104 = llvm.add %102, %103 : i64
    %105 = llvm.load %r27 : !llvm.ptr -> i64
    %106 = llvm.inttoptr %105 : i64 to !llvm.ptr
    %107 = llvm.getelementptr %106[56] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %104, %107 <alignment = 8> : i64, !llvm.ptr
    llvm.br ^b7
  ^b7:
    %108 = llvm.load %r27 : !llvm.ptr -> i64
    %109 = llvm.load %r32 : !llvm.ptr -> i64
    %110 = llvm.add %108, %109 : i64
    %111 = llvm.add %110, %103 : i64
    %112 = llvm.load %r16 : !llvm.ptr -> i64
    %113 = llvm.add %111, %112 : i64
    %114 = llvm.load %r27 : !llvm.ptr -> i64
    %115 = llvm.inttoptr %114 : i64 to !llvm.ptr
    %116 = llvm.getelementptr %115[48] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %113, %116 <alignment = 8> : i64, !llvm.ptr
    %117 = llvm.load %r34 : !llvm.ptr -> i64
    %118 = llvm.add %113, %117 : i64
    %119 = llvm.load %r27 : !llvm.ptr -> i64
    %120 = llvm.inttoptr %119 : i64 to !llvm.ptr
    %121 = llvm.getelementptr %120[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %118, %121 <alignment = 8> : i64, !llvm.ptr
    %122 = llvm.getelementptr %121[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %111, %122 <alignment = 8> : i64, !llvm.ptr
    %123 = llvm.load %r36 : !llvm.ptr -> i64
    %124 = llvm.add %118, %123 : i64
    %125 = llvm.load %r27 : !llvm.ptr -> i64
    %126 = llvm.inttoptr %125 : i64 to !llvm.ptr
    llvm.store %124, %126 <alignment = 8> : i64, !llvm.ptr
    %127 = llvm.load %r43 : !llvm.ptr -> i64
    %128 = llvm.getelementptr %126[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %127, %128 <alignment = 8> : i64, !llvm.ptr
    %129 = llvm.load %r27 : !llvm.ptr -> i64
    %130 = llvm.inttoptr %129 : i64 to !llvm.ptr
    %131 = llvm.getelementptr %130[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %132 = llvm.load %r0 : !llvm.ptr -> i64
    llvm.store %132, %131 <alignment = 8> : i64, !llvm.ptr
    %133 = llvm.load %r2 : !llvm.ptr -> i64
    %134 = llvm.getelementptr %131[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %133, %134 <alignment = 8> : i64, !llvm.ptr
    %135 = llvm.load %r27 : !llvm.ptr -> i64
    %136 = llvm.inttoptr %135 : i64 to !llvm.ptr
    %137 = llvm.getelementptr %136[32] : (!llvm.ptr) -> !llvm.ptr, i8
    %138 = llvm.load %r4 : !llvm.ptr -> i64
    llvm.store %138, %137 <alignment = 8> : i64, !llvm.ptr
    %139 = llvm.load %r6 : !llvm.ptr -> i64
    %140 = llvm.getelementptr %137[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %139, %140 <alignment = 8> : i64, !llvm.ptr
    %141 = llvm.load %r27 : !llvm.ptr -> i64
    %142 = llvm.inttoptr %141 : i64 to !llvm.ptr
    %143 = llvm.getelementptr %142[80] : (!llvm.ptr) -> !llvm.ptr, i8
    %144 = llvm.load %r8 : !llvm.ptr -> i32
    llvm.store %144, %143 <alignment = 4> : i32, !llvm.ptr
    %145 = llvm.load %r10 : !llvm.ptr -> i32
    %146 = llvm.getelementptr %143[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %145, %146 <alignment = 4> : i32, !llvm.ptr
    %147 = llvm.load %r27 : !llvm.ptr -> i64
    %148 = llvm.inttoptr %147 : i64 to !llvm.ptr
    %149 = llvm.getelementptr %148[88] : (!llvm.ptr) -> !llvm.ptr, i8
    %150 = llvm.load %r12 : !llvm.ptr -> i32
    llvm.store %150, %149 <alignment = 4> : i32, !llvm.ptr
    %151 = llvm.load %r27 : !llvm.ptr -> i64
    %152 = llvm.inttoptr %151 : i64 to !llvm.ptr
    %153 = llvm.getelementptr %152[96] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %153 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b8
  ^b8:
    %154 = llvm.load %r27 : !llvm.ptr -> i64
    llvm.store %154, %r54 : i64, !llvm.ptr
    llvm.br ^exit
  ^b9:
    llvm.br ^exit
  ^exit:
    %155 = llvm.load %r54 : !llvm.ptr -> i64
    llvm.return %155 : i64
  }
  llvm.func internal @check.region(%a0: i64, %a1: i32, %a2: i64, %a3: i64, %a4: i32, %a5: i32) attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %11 = llvm.mlir.constant(32 : i32) : i32
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i32, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r13 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r13 : i32, !llvm.ptr
    %r15 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r15 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i32, !llvm.ptr
    llvm.store %a2, %r5 : i64, !llvm.ptr
    llvm.store %a3, %r7 : i64, !llvm.ptr
    llvm.store %a4, %r15 : i32, !llvm.ptr
    llvm.store %a5, %r13 : i32, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %4 = llvm.load %r1 : !llvm.ptr -> i64
    %5 = llvm.load %r3 : !llvm.ptr -> i32
    %6 = llvm.load %r5 : !llvm.ptr -> i64
    %7 = llvm.load %r7 : !llvm.ptr -> i64
    %8 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %9 = llvm.getelementptr %8[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %10 = llvm.load %9 <alignment = 8> : !llvm.ptr -> i64
    %12 = llvm.zext %5 : i32 to i64
    %13 = llvm.zext %11 : i32 to i64
    %14 = llvm.mul %12, %13 : i64
    %15 = llvm.add %10, %14 : i64
    %16 = llvm.inttoptr %15 : i64 to !llvm.ptr
    llvm.store %6, %16 <alignment = 8> : i64, !llvm.ptr
    %17 = llvm.inttoptr %15 : i64 to !llvm.ptr
    %18 = llvm.getelementptr %17[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %7, %18 <alignment = 8> : i64, !llvm.ptr
    %19 = llvm.inttoptr %15 : i64 to !llvm.ptr
    %20 = llvm.getelementptr %19[16] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %20 <alignment = 8> : i64, !llvm.ptr
    %21 = llvm.load %r13 : !llvm.ptr -> i32
    %22 = llvm.load %r15 : !llvm.ptr -> i32
    %23 = llvm.inttoptr %15 : i64 to !llvm.ptr
    %24 = llvm.getelementptr %23[24] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %22, %24 <alignment = 4> : i32, !llvm.ptr
    %25 = llvm.getelementptr %24[4] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %21, %25 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^exit
  ^b1:
    llvm.br ^exit
  ^exit:
    llvm.return
  }
  llvm.func internal @check.end(%a0: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.mlir.constant(0 : i16) : i16
    %5 = llvm.mlir.constant(false) : i1
    %88 = llvm.mlir.constant(8 : i64) : i64
    %92 = llvm.mlir.constant(16 : i64) : i64
    %98 = llvm.mlir.constant(36 : i64) : i64
    %115 = llvm.mlir.constant(16 : i32) : i32
    %150 = llvm.mlir.constant(48 : i32) : i32
    %156 = llvm.mlir.constant(272 : i64) : i64
    %168 = llvm.mlir.constant(1 : i64) : i64
    %169 = llvm.mlir.constant(24 : i32) : i32
    %175 = llvm.mlir.constant(12 : i32) : i32
    %176 = llvm.mlir.constant(32 : i32) : i32
    %191 = llvm.mlir.constant(15 : i32) : i32
    %193 = llvm.mlir.constant(8 : i32) : i32
    %198 = llvm.mlir.constant(64 : i32) : i32
    %208 = llvm.mlir.constant(5 : i32) : i32
    %250 = llvm.mlir.constant(224 : i64) : i64
    %253 = llvm.mlir.constant(88 : i64) : i64
    %256 = llvm.mlir.constant(64 : i64) : i64
    %299 = llvm.mlir.constant(36 : i32) : i32
    %340 = llvm.mlir.constant(3 : i32) : i32
    %438 = llvm.mlir.constant(2 : i32) : i32
    %557 = llvm.mlir.constant(123 : i16) : i16
    %569 = llvm.mlir.constant(7 : i64) : i64
    %591 = llvm.mlir.constant(1023 : i32) : i32
    %621 = llvm.mlir.constant(4 : i64) : i64
    %632 = llvm.mlir.constant(-1 : i32) : i32
    %720 = llvm.mlir.constant(125 : i16) : i16
    %737 = llvm.mlir.constant(8191 : i64) : i64
    %791 = llvm.mlir.constant(10 : i16) : i16
    %r2 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r2 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r5 : i64, !llvm.ptr
    %r6 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r6 : i64, !llvm.ptr
    %r7 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i64, !llvm.ptr
    %r8 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r8 : i64, !llvm.ptr
    %r10 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r10 : i64, !llvm.ptr
    %r13 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r13 : i32, !llvm.ptr
    %r14 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r14 : i64, !llvm.ptr
    %r16 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r16 : i64, !llvm.ptr
    %r17 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r17 : i32, !llvm.ptr
    %r26 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r26 : i32, !llvm.ptr
    %r28 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r28 : i64, !llvm.ptr
    %r29 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r29 : i32, !llvm.ptr
    %r32 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r32 : i64, !llvm.ptr
    %r56 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r56 : i32, !llvm.ptr
    %r60 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r60 : i64, !llvm.ptr
    %r65 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r65 : i32, !llvm.ptr
    %r67 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r67 : i64, !llvm.ptr
    %r68 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r68 : i64, !llvm.ptr
    %r69 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r69 : i64, !llvm.ptr
    %r70 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r70 : i32, !llvm.ptr
    %r73 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r73 : i64, !llvm.ptr
    %r76 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r76 : i32, !llvm.ptr
    %r89 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r89 : i64, !llvm.ptr
    %r90 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r90 : i64, !llvm.ptr
    %r92 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r92 : i32, !llvm.ptr
    %r100 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r100 : i32, !llvm.ptr
    %r109 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r109 : i64, !llvm.ptr
    %r110 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r110 : i64, !llvm.ptr
    %r111 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r111 : i32, !llvm.ptr
    %r113 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r113 : i32, !llvm.ptr
    %r118 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %4, %r118 : i16, !llvm.ptr
    %r120 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r120 : i64, !llvm.ptr
    %r123 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r123 : i64, !llvm.ptr
    %r126 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r126 : i64, !llvm.ptr
    %r128 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r128 : i64, !llvm.ptr
    %r135 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r135 : i64, !llvm.ptr
    %r141 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r141 : i32, !llvm.ptr
    %r169 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r169 : i64, !llvm.ptr
    %r199 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r199 : i64, !llvm.ptr
    %r204 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r204 : i32, !llvm.ptr
    %r211 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r211 : i32, !llvm.ptr
    %r212 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r212 : i32, !llvm.ptr
    %r216 = llvm.alloca %1 x i1 : (i32) -> !llvm.ptr
    llvm.store %5, %r216 : i1, !llvm.ptr
    %r217 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r217 : i32, !llvm.ptr
    %r225 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r225 : i32, !llvm.ptr
    %r230 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r230 : i32, !llvm.ptr
    %r239 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r239 : i64, !llvm.ptr
    %r242 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r242 : i64, !llvm.ptr
    %r243 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r243 : i64, !llvm.ptr
    %r245 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r245 : i64, !llvm.ptr
    %r246 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r246 : i64, !llvm.ptr
    %r272 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r272 : i64, !llvm.ptr
    %r279 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r279 : i32, !llvm.ptr
    %r288 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %3, %r288 : i32, !llvm.ptr
    %6 = llvm.alloca %1 x !llvm.array<16 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %7 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %8 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %9 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %10 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %11 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %12 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %13 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %14 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %15 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %16 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %17 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %18 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %19 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %20 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %21 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %22 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %23 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %24 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %25 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %26 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %27 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %28 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %29 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %30 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %31 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %32 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %33 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %34 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %35 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %36 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %37 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %38 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %39 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %40 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %41 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %42 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %43 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %44 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %45 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %46 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %47 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %48 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %49 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %50 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %51 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %52 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %53 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %54 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %55 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %56 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %57 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %58 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %59 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %60 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %61 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %62 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %63 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %64 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %65 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %66 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %67 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %68 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %69 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %70 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %71 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %72 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %73 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %74 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %75 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %76 = llvm.alloca %1 x !llvm.array<4 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %77 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %78 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %79 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %80 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %81 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %82 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %83 = llvm.alloca %1 x !llvm.array<8 x i8> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    llvm.store %a0, %r3 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %84 = llvm.ptrtoint %6 : !llvm.ptr to i64
    %85 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %85, %r2 : i64, !llvm.ptr
    %86 = llvm.add %84, %2 : i64
    llvm.store %86, %r4 : i64, !llvm.ptr
    %87 = llvm.add %84, %2 : i64
    llvm.store %87, %r5 : i64, !llvm.ptr
    %89 = llvm.add %84, %88 : i64
    llvm.store %89, %r6 : i64, !llvm.ptr
    %90 = llvm.add %84, %88 : i64
    llvm.store %90, %r7 : i64, !llvm.ptr
    %91 = llvm.load %r2 : !llvm.ptr -> i64
    %93 = llvm.add %91, %92 : i64
    llvm.store %93, %r8 : i64, !llvm.ptr
    %94 = llvm.load %r2 : !llvm.ptr -> i64
    %95 = llvm.inttoptr %94 : i64 to !llvm.ptr
    %96 = llvm.getelementptr %95[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %97 = llvm.load %96 <alignment = 8> : !llvm.ptr -> i64
    %99 = llvm.add %97, %98 : i64
    llvm.store %99, %r10 : i64, !llvm.ptr
    %100 = llvm.inttoptr %97 : i64 to !llvm.ptr
    %101 = llvm.getelementptr %100[36] : (!llvm.ptr) -> !llvm.ptr, i8
    %102 = llvm.load %101 <alignment = 4> : !llvm.ptr -> i32
    %103 = llvm.icmp "eq" %102, %3 : i32
    llvm.cond_br %103, ^b10, ^b1
  ^b1:
    %104 = llvm.load %r10 : !llvm.ptr -> i64
    %105 = llvm.inttoptr %104 : i64 to !llvm.ptr
    %106 = llvm.getelementptr %105[-24] : (!llvm.ptr) -> !llvm.ptr, i8
    %107 = llvm.load %106 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %107, %r13 : i32, !llvm.ptr
    llvm.store %2, %r14 : i64, !llvm.ptr
    %108 = llvm.load %r13 : !llvm.ptr -> i32
    %109 = llvm.icmp "eq" %108, %3 : i32
    llvm.cond_br %109, ^b4, ^b2
  ^b2:
    %110 = llvm.load %r8 : !llvm.ptr -> i64
    %111 = llvm.inttoptr %110 : i64 to !llvm.ptr
    %112 = llvm.getelementptr %111[56] : (!llvm.ptr) -> !llvm.ptr, i8
    %113 = llvm.load %112 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %113, %r16 : i64, !llvm.ptr
    llvm.store %3, %r17 : i32, !llvm.ptr
    llvm.store %2, %r14 : i64, !llvm.ptr
    llvm.br ^b3
  ^b3:
    %114 = llvm.load %r17 : !llvm.ptr -> i32
    %116 = llvm.zext %114 : i32 to i64
    %117 = llvm.zext %115 : i32 to i64
    %118 = llvm.mul %116, %117 : i64
    %119 = llvm.load %r16 : !llvm.ptr -> i64
    %120 = llvm.add %119, %118 : i64
    %121 = llvm.inttoptr %120 : i64 to !llvm.ptr
    %122 = llvm.getelementptr %121[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %123 = llvm.load %122 <alignment = 8> : !llvm.ptr -> i64
    %124 = llvm.inttoptr %120 : i64 to !llvm.ptr
    %125 = llvm.load %124 <alignment = 8> : !llvm.ptr -> i64
    %126 = llvm.and %123, %125 : i64
    %127 = llvm.load %r14 : !llvm.ptr -> i64
    %128 = llvm.or %126, %127 : i64
    llvm.store %128, %r14 : i64, !llvm.ptr
    %129 = llvm.load %r17 : !llvm.ptr -> i32
    %130 = llvm.add %129, %1 : i32
    llvm.store %130, %r17 : i32, !llvm.ptr
    %131 = llvm.load %r17 : !llvm.ptr -> i32
    %132 = llvm.load %r13 : !llvm.ptr -> i32
    %133 = llvm.icmp "ult" %131, %132 : i32
    llvm.cond_br %133, ^b3, ^b4
  ^b4:
    %134 = llvm.load %r14 : !llvm.ptr -> i64
    %135 = llvm.icmp "eq" %134, %2 : i64
    llvm.cond_br %135, ^b10, ^b5
  ^b5:
    %136 = llvm.load %r8 : !llvm.ptr -> i64
    %137 = llvm.inttoptr %136 : i64 to !llvm.ptr
    %138 = llvm.getelementptr %137[96] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %1, %138 <alignment = 4> : i32, !llvm.ptr
    %139 = llvm.load %r8 : !llvm.ptr -> i64
    %140 = llvm.inttoptr %139 : i64 to !llvm.ptr
    %141 = llvm.getelementptr %140[92] : (!llvm.ptr) -> !llvm.ptr, i8
    %142 = llvm.load %141 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %142, %r26 : i32, !llvm.ptr
    %143 = llvm.load %r26 : !llvm.ptr -> i32
    %144 = llvm.icmp "eq" %143, %3 : i32
    llvm.cond_br %144, ^b10, ^b6
  ^b6:
    %145 = llvm.load %r8 : !llvm.ptr -> i64
    %146 = llvm.inttoptr %145 : i64 to !llvm.ptr
    %147 = llvm.getelementptr %146[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %148 = llvm.load %147 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %148, %r28 : i64, !llvm.ptr
    llvm.store %3, %r29 : i32, !llvm.ptr
    llvm.br ^b7
  ^b7:
    %149 = llvm.load %r29 : !llvm.ptr -> i32
    %151 = llvm.zext %149 : i32 to i64
    %152 = llvm.zext %150 : i32 to i64
    %153 = llvm.mul %151, %152 : i64
    %154 = llvm.load %r2 : !llvm.ptr -> i64
    %155 = llvm.add %154, %153 : i64
    %157 = llvm.add %155, %156 : i64
    llvm.store %157, %r32 : i64, !llvm.ptr
    %158 = llvm.inttoptr %155 : i64 to !llvm.ptr
    %159 = llvm.getelementptr %158[272] : (!llvm.ptr) -> !llvm.ptr, i8
    %160 = llvm.load %159 <alignment = 4> : !llvm.ptr -> i32
    %161 = llvm.getelementptr %159[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %162 = llvm.load %161 <alignment = 4> : !llvm.ptr -> i32
    %163 = llvm.inttoptr %155 : i64 to !llvm.ptr
    %164 = llvm.getelementptr %163[280] : (!llvm.ptr) -> !llvm.ptr, i8
    %165 = llvm.load %164 <alignment = 4> : !llvm.ptr -> i32
    %166 = llvm.getelementptr %164[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %167 = llvm.load %166 <alignment = 4> : !llvm.ptr -> i32
    %170 = llvm.zext %165 : i32 to i64
    %171 = llvm.zext %169 : i32 to i64
    %172 = llvm.mul %170, %171 : i64
    %173 = llvm.load %r28 : !llvm.ptr -> i64
    %174 = llvm.add %173, %172 : i64
    %177 = llvm.icmp "uge" %175, %176 : i32
    %178 = llvm.select %177, %3, %175 : i1, i32
    %179 = llvm.lshr %167, %178 : i32
    %180 = llvm.select %177, %3, %179 : i1, i32
    %181 = llvm.zext %180 : i32 to i64
    %182 = llvm.zext %169 : i32 to i64
    %183 = llvm.mul %181, %182 : i64
    %184 = llvm.load %r28 : !llvm.ptr -> i64
    %185 = llvm.add %184, %183 : i64
    %186 = llvm.inttoptr %185 : i64 to !llvm.ptr
    %187 = llvm.load %186 <alignment = 4> : !llvm.ptr -> i32
    %188 = llvm.inttoptr %174 : i64 to !llvm.ptr
    %189 = llvm.load %188 <alignment = 4> : !llvm.ptr -> i32
    %190 = llvm.or %187, %189 : i32
    %192 = llvm.icmp "ne" %160, %191 : i32
    %194 = llvm.icmp "uge" %193, %176 : i32
    %195 = llvm.select %194, %3, %193 : i1, i32
    %196 = llvm.lshr %190, %195 : i32
    %197 = llvm.select %194, %3, %196 : i1, i32
    %199 = llvm.icmp "uge" %197, %198 : i32
    %200 = llvm.select %199, %3, %197 : i1, i32
    %201 = llvm.zext %200 : i32 to i64
    %202 = llvm.shl %168, %201 : i64
    %203 = llvm.select %199, %2, %202 : i1, i64
    %204 = llvm.load %r14 : !llvm.ptr -> i64
    %205 = llvm.and %203, %204 : i64
    %206 = llvm.icmp "eq" %205, %2 : i64
    %207 = llvm.or %192, %206 : i1
    llvm.cond_br %207, ^b9, ^b8
  ^b8:
    %209 = llvm.load %r32 : !llvm.ptr -> i64
    %210 = llvm.inttoptr %209 : i64 to !llvm.ptr
    llvm.store %208, %210 <alignment = 4> : i32, !llvm.ptr
    llvm.br ^b9
  ^b9:
    %211 = llvm.load %r29 : !llvm.ptr -> i32
    %212 = llvm.add %211, %1 : i32
    llvm.store %212, %r29 : i32, !llvm.ptr
    %213 = llvm.load %r29 : !llvm.ptr -> i32
    %214 = llvm.load %r26 : !llvm.ptr -> i32
    %215 = llvm.icmp "ult" %213, %214 : i32
    llvm.cond_br %215, ^b7, ^b10
  ^b10:
    %216 = llvm.load %r8 : !llvm.ptr -> i64
    %217 = llvm.inttoptr %216 : i64 to !llvm.ptr
    %218 = llvm.getelementptr %217[96] : (!llvm.ptr) -> !llvm.ptr, i8
    %219 = llvm.load %218 <alignment = 4> : !llvm.ptr -> i32
    %220 = llvm.load %r8 : !llvm.ptr -> i64
    %221 = llvm.inttoptr %220 : i64 to !llvm.ptr
    %222 = llvm.getelementptr %221[76] : (!llvm.ptr) -> !llvm.ptr, i8
    %223 = llvm.load %222 <alignment = 4> : !llvm.ptr -> i32
    %224 = llvm.or %219, %223 : i32
    llvm.store %224, %r56 : i32, !llvm.ptr
    %225 = llvm.load %r8 : !llvm.ptr -> i64
    %226 = llvm.inttoptr %225 : i64 to !llvm.ptr
    %227 = llvm.getelementptr %226[92] : (!llvm.ptr) -> !llvm.ptr, i8
    %228 = llvm.load %227 <alignment = 4> : !llvm.ptr -> i32
    %229 = llvm.load %r56 : !llvm.ptr -> i32
    %230 = llvm.or %229, %228 : i32
    %231 = llvm.icmp "eq" %230, %3 : i32
    llvm.cond_br %231, ^b80, ^b11
  ^b11:
    %232 = llvm.mlir.addressof @check.variable.19 : !llvm.ptr
    %233 = llvm.ptrtoint %232 : !llvm.ptr to i64
    llvm.store %233, %r60 : i64, !llvm.ptr
    llvm.br ^b12
  ^b12:
    %234 = llvm.load %r60 : !llvm.ptr -> i64
    %235 = llvm.inttoptr %234 : i64 to !llvm.ptr
    %236 = llvm.atomicrmw _or %235, %1 seq_cst : !llvm.ptr, i32
    %237 = llvm.icmp "ne" %236, %3 : i32
    llvm.cond_br %237, ^b12, ^b13
  ^b13:
    llvm.fence seq_cst
    %238 = llvm.load %r8 : !llvm.ptr -> i64
    %239 = llvm.inttoptr %238 : i64 to !llvm.ptr
    %240 = llvm.getelementptr %239[76] : (!llvm.ptr) -> !llvm.ptr, i8
    %241 = llvm.load %240 <alignment = 4> : !llvm.ptr -> i32
    %242 = llvm.load %r8 : !llvm.ptr -> i64
    %243 = llvm.inttoptr %242 : i64 to !llvm.ptr
    %244 = llvm.getelementptr %243[92] : (!llvm.ptr) -> !llvm.ptr, i8
    %245 = llvm.load %244 <alignment = 4> : !llvm.ptr -> i32
    %246 = llvm.add %241, %245 : i32
    llvm.store %246, %r65 : i32, !llvm.ptr
    %247 = llvm.load %r65 : !llvm.ptr -> i32
    %248 = llvm.icmp "eq" %247, %3 : i32
    llvm.cond_br %248, ^b79, ^b14
  ^b14:
    %249 = llvm.load %r2 : !llvm.ptr -> i64
    %251 = llvm.add %249, %250 : i64
    llvm.store %251, %r67 : i64, !llvm.ptr
    %252 = llvm.load %r8 : !llvm.ptr -> i64
    %254 = llvm.add %252, %253 : i64
    llvm.store %254, %r68 : i64, !llvm.ptr
    %255 = llvm.load %r8 : !llvm.ptr -> i64
    %257 = llvm.add %255, %256 : i64
    llvm.store %257, %r69 : i64, !llvm.ptr
    llvm.store %3, %r70 : i32, !llvm.ptr
    llvm.br ^b15
  ^b15:
    %258 = llvm.load %r68 : !llvm.ptr -> i64
    %259 = llvm.inttoptr %258 : i64 to !llvm.ptr
    %260 = llvm.getelementptr %259[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %261 = llvm.load %260 <alignment = 4> : !llvm.ptr -> i32
    %262 = llvm.load %r70 : !llvm.ptr -> i32
    %263 = llvm.icmp "uge" %262, %261 : i32
    %264 = llvm.load %r67 : !llvm.ptr -> i64
    llvm.store %264, %r73 : i64, !llvm.ptr
    llvm.cond_br %263, ^b17, ^b16
  ^b16:
    %265 = llvm.load %r70 : !llvm.ptr -> i32
    %266 = llvm.zext %265 : i32 to i64
    %267 = llvm.zext %150 : i32 to i64
    %268 = llvm.mul %266, %267 : i64
    %269 = llvm.load %r2 : !llvm.ptr -> i64
    %270 = llvm.add %269, %268 : i64
    %271 = llvm.add %270, %156 : i64
    llvm.store %271, %r73 : i64, !llvm.ptr
    llvm.br ^b17
  ^b17:
    %272 = llvm.load %r73 : !llvm.ptr -> i64
    %273 = llvm.inttoptr %272 : i64 to !llvm.ptr
    %274 = llvm.load %273 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %274, %r76 : i32, !llvm.ptr
    %275 = llvm.getelementptr %273[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %276 = llvm.load %275 <alignment = 4> : !llvm.ptr -> i32
    %277 = llvm.load %r73 : !llvm.ptr -> i64
    %278 = llvm.inttoptr %277 : i64 to !llvm.ptr
    %279 = llvm.getelementptr %278[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %280 = llvm.load %279 <alignment = 4> : !llvm.ptr -> i32
    %281 = llvm.getelementptr %279[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %282 = llvm.load %281 <alignment = 4> : !llvm.ptr -> i32
    %283 = llvm.zext %280 : i32 to i64
    %284 = llvm.icmp "uge" %175, %176 : i32
    %285 = llvm.select %284, %3, %175 : i1, i32
    %286 = llvm.lshr %282, %285 : i32
    %287 = llvm.select %284, %3, %286 : i1, i32
    %288 = llvm.zext %287 : i32 to i64
    %289 = llvm.load %r76 : !llvm.ptr -> i32
    %290 = llvm.zext %289 : i32 to i64
    %291 = llvm.call_intrinsic "llvm.umin"(%283, %288) : (i64, i64) -> i64
    %292 = llvm.icmp "uge" %193, %198 : i32
    %293 = llvm.select %292, %3, %193 : i1, i32
    %294 = llvm.zext %293 : i32 to i64
    %295 = llvm.shl %291, %294 : i64
    %296 = llvm.select %292, %2, %295 : i1, i64
    %297 = llvm.or %296, %290 : i64
    %298 = llvm.call_intrinsic "llvm.umax"(%283, %288) : (i64, i64) -> i64
    %300 = llvm.icmp "uge" %299, %198 : i32
    %301 = llvm.select %300, %3, %299 : i1, i32
    %302 = llvm.zext %301 : i32 to i64
    %303 = llvm.shl %298, %302 : i64
    %304 = llvm.select %300, %2, %303 : i1, i64
    %305 = llvm.or %297, %304 : i64
    llvm.store %305, %r89 : i64, !llvm.ptr
    %306 = llvm.mlir.addressof @check.variable.22 : !llvm.ptr
    %307 = llvm.load %306 <alignment = 4> : !llvm.ptr -> i32
    %308 = llvm.zext %307 : i32 to i64
    llvm.store %308, %r90 : i64, !llvm.ptr
    %309 = llvm.load %r90 : !llvm.ptr -> i64
    %310 = llvm.icmp "eq" %309, %2 : i64
    llvm.cond_br %310, ^b21, ^b18
  ^b18:
    llvm.store %3, %r92 : i32, !llvm.ptr
    llvm.br ^b19
  ^b19:
    %311 = llvm.load %r92 : !llvm.ptr -> i32
    %312 = llvm.zext %311 : i32 to i64
    %313 = llvm.zext %193 : i32 to i64
    %314 = llvm.mul %312, %313 : i64
    %315 = llvm.mlir.addressof @check.variable.21 : !llvm.ptr
    %316 = llvm.ptrtoint %315 : !llvm.ptr to i64
    %317 = llvm.add %316, %314 : i64
    %318 = llvm.inttoptr %317 : i64 to !llvm.ptr
    %319 = llvm.load %318 <alignment = 8> : !llvm.ptr -> i64
    %320 = llvm.load %r89 : !llvm.ptr -> i64
    %321 = llvm.icmp "eq" %319, %320 : i64
    %322 = llvm.load %r92 : !llvm.ptr -> i32
    %323 = llvm.add %322, %1 : i32
    llvm.store %323, %r92 : i32, !llvm.ptr
    llvm.cond_br %321, ^b78, ^b20
  ^b20:
    %324 = llvm.load %r90 : !llvm.ptr -> i64
    %325 = llvm.trunc %324 : i64 to i32
    %326 = llvm.load %r92 : !llvm.ptr -> i32
    %327 = llvm.icmp "ult" %326, %325 : i32
    llvm.cond_br %327, ^b19, ^b21
  ^b21:
    %328 = llvm.load %r90 : !llvm.ptr -> i64
    %329 = llvm.trunc %328 : i64 to i32
    llvm.store %329, %r100 : i32, !llvm.ptr
    %330 = llvm.load %r76 : !llvm.ptr -> i32
    %331 = llvm.or %330, %1 : i32
    %332 = llvm.icmp "eq" %331, %191 : i32
    %333 = llvm.select %332, %193, %169 : i1, i32
    %334 = llvm.load %r100 : !llvm.ptr -> i32
    %335 = llvm.icmp "uge" %334, %333 : i32
    llvm.cond_br %335, ^b78, ^b22
  ^b22:
    %336 = llvm.load %r100 : !llvm.ptr -> i32
    %337 = llvm.add %336, %1 : i32
    %338 = llvm.mlir.addressof @check.variable.22 : !llvm.ptr
    llvm.store %337, %338 <alignment = 4> : i32, !llvm.ptr
    %339 = llvm.load %r90 : !llvm.ptr -> i64
    %341 = llvm.icmp "uge" %340, %198 : i32
    %342 = llvm.select %341, %3, %340 : i1, i32
    %343 = llvm.zext %342 : i32 to i64
    %344 = llvm.shl %339, %343 : i64
    %345 = llvm.select %341, %2, %344 : i1, i64
    %346 = llvm.mlir.addressof @check.variable.21 : !llvm.ptr
    %347 = llvm.ptrtoint %346 : !llvm.ptr to i64
    %348 = llvm.add %347, %345 : i64
    %349 = llvm.inttoptr %348 : i64 to !llvm.ptr
    %350 = llvm.load %r89 : !llvm.ptr -> i64
    llvm.store %350, %349 <alignment = 8> : i64, !llvm.ptr
    %351 = llvm.load %r4 : !llvm.ptr -> i64
    llvm.store %351, %7 <alignment = 8> : i64, !llvm.ptr
    %352 = llvm.load %r6 : !llvm.ptr -> i64
    llvm.store %352, %8 <alignment = 8> : i64, !llvm.ptr
    %353 = llvm.load %7 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %354 = llvm.load %8 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %355 = llvm.call @open_memstream(%353, %354) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    llvm.store %355, %9 <alignment = 8> : !llvm.ptr, !llvm.ptr
    %356 = llvm.load %9 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %356, %r109 : i64, !llvm.ptr
    %357 = llvm.load %r8 : !llvm.ptr -> i64
    %358 = llvm.inttoptr %357 : i64 to !llvm.ptr
    %359 = llvm.getelementptr %358[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %360 = llvm.load %359 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %360, %r110 : i64, !llvm.ptr
    %361 = llvm.load %r73 : !llvm.ptr -> i64
    %362 = llvm.inttoptr %361 : i64 to !llvm.ptr
    %363 = llvm.load %362 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %363, %r111 : i32, !llvm.ptr
    %364 = llvm.load %r111 : !llvm.ptr -> i32
    %365 = llvm.icmp "eq" %364, %3 : i32
    llvm.cond_br %365, ^b25, ^b23
  ^b23:
    llvm.store %3, %r113 : i32, !llvm.ptr
    llvm.br ^b24
  ^b24:
    %366 = llvm.load %r110 : !llvm.ptr -> i64
    %367 = llvm.inttoptr %366 : i64 to !llvm.ptr
    %368 = llvm.load %367 <alignment = 1> : !llvm.ptr -> i8
    %369 = llvm.zext %368 : i8 to i16
    %370 = llvm.icmp "eq" %369, %4 : i16
    %371 = llvm.select %370, %1, %3 : i1, i32
    %372 = llvm.load %r113 : !llvm.ptr -> i32
    %373 = llvm.add %372, %371 : i32
    llvm.store %373, %r113 : i32, !llvm.ptr
    %374 = llvm.load %r110 : !llvm.ptr -> i64
    %375 = llvm.add %374, %168 : i64
    llvm.store %375, %r110 : i64, !llvm.ptr
    %376 = llvm.load %r113 : !llvm.ptr -> i32
    %377 = llvm.load %r111 : !llvm.ptr -> i32
    %378 = llvm.icmp "ult" %376, %377 : i32
    llvm.cond_br %378, ^b24, ^b25
  ^b25:
    %379 = llvm.load %r110 : !llvm.ptr -> i64
    %380 = llvm.inttoptr %379 : i64 to !llvm.ptr
    %381 = llvm.load %380 <alignment = 1> : !llvm.ptr -> i8
    %382 = llvm.zext %381 : i8 to i16
    llvm.store %382, %r118 : i16, !llvm.ptr
    %383 = llvm.load %r118 : !llvm.ptr -> i16
    %384 = llvm.icmp "eq" %383, %4 : i16
    llvm.cond_br %384, ^b72, ^b26
  ^b26:
    %385 = llvm.load %r73 : !llvm.ptr -> i64
    %386 = llvm.add %385, %88 : i64
    llvm.store %386, %r120 : i64, !llvm.ptr
    llvm.br ^b49
  ^b27:
    %387 = llvm.mlir.addressof @check.variable.40 : !llvm.ptr
    %388 = llvm.ptrtoint %387 : !llvm.ptr to i64
    %389 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %389, %10 <alignment = 8> : i64, !llvm.ptr
    llvm.store %388, %11 <alignment = 8> : i64, !llvm.ptr
    %390 = llvm.load %10 <alignment = 8> : !llvm.ptr -> i64
    %391 = llvm.load %11 <alignment = 8> : !llvm.ptr -> i64
    %392 = llvm.call @check.begins.43(%390, %391) : (i64, i64) -> i32
    llvm.store %392, %12 <alignment = 4> : i32, !llvm.ptr
    %393 = llvm.load %12 <alignment = 4> : !llvm.ptr -> i32
    %394 = llvm.icmp "eq" %393, %3 : i32
    llvm.store %2, %r126 : i64, !llvm.ptr
    llvm.cond_br %394, ^b29, ^b28
  ^b28:
    %395 = llvm.load %r128 : !llvm.ptr -> i64
    %396 = llvm.inttoptr %395 : i64 to !llvm.ptr
    %397 = llvm.getelementptr %396[-4] : (!llvm.ptr) -> !llvm.ptr, i8
    %398 = llvm.load %397 <alignment = 4> : !llvm.ptr -> i32
    %399 = llvm.zext %398 : i32 to i64
    %400 = llvm.load %r8 : !llvm.ptr -> i64
    %401 = llvm.inttoptr %400 : i64 to !llvm.ptr
    %402 = llvm.getelementptr %401[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %403 = llvm.load %402 <alignment = 8> : !llvm.ptr -> i64
    %404 = llvm.add %403, %399 : i64
    llvm.store %404, %r126 : i64, !llvm.ptr
    llvm.br ^b29
  ^b29:
    %405 = llvm.mlir.addressof @check.variable.41 : !llvm.ptr
    %406 = llvm.ptrtoint %405 : !llvm.ptr to i64
    %407 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %407, %13 <alignment = 8> : i64, !llvm.ptr
    llvm.store %406, %14 <alignment = 8> : i64, !llvm.ptr
    %408 = llvm.load %13 <alignment = 8> : !llvm.ptr -> i64
    %409 = llvm.load %14 <alignment = 8> : !llvm.ptr -> i64
    %410 = llvm.call @check.begins.43(%408, %409) : (i64, i64) -> i32
    llvm.store %410, %15 <alignment = 4> : i32, !llvm.ptr
    %411 = llvm.load %15 <alignment = 4> : !llvm.ptr -> i32
    %412 = llvm.icmp "eq" %411, %3 : i32
    llvm.cond_br %412, ^b31, ^b30
  ^b30:
    %413 = llvm.load %r135 : !llvm.ptr -> i64
    %414 = llvm.inttoptr %413 : i64 to !llvm.ptr
    %415 = llvm.getelementptr %414[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %416 = llvm.load %415 <alignment = 4> : !llvm.ptr -> i32
    %417 = llvm.zext %416 : i32 to i64
    %418 = llvm.load %r8 : !llvm.ptr -> i64
    %419 = llvm.inttoptr %418 : i64 to !llvm.ptr
    %420 = llvm.getelementptr %419[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %421 = llvm.load %420 <alignment = 8> : !llvm.ptr -> i64
    %422 = llvm.add %421, %417 : i64
    llvm.store %422, %r126 : i64, !llvm.ptr
    llvm.br ^b31
  ^b31:
    %423 = llvm.mlir.addressof @check.variable.42 : !llvm.ptr
    %424 = llvm.ptrtoint %423 : !llvm.ptr to i64
    %425 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %425, %16 <alignment = 8> : i64, !llvm.ptr
    llvm.store %424, %17 <alignment = 8> : i64, !llvm.ptr
    %426 = llvm.load %16 <alignment = 8> : !llvm.ptr -> i64
    %427 = llvm.load %17 <alignment = 8> : !llvm.ptr -> i64
    %428 = llvm.call @check.begins.43(%426, %427) : (i64, i64) -> i32
    llvm.store %428, %18 <alignment = 4> : i32, !llvm.ptr
    %429 = llvm.load %18 <alignment = 4> : !llvm.ptr -> i32
    %430 = llvm.icmp "eq" %429, %3 : i32
    llvm.cond_br %430, ^b34, ^b32
  ^b32:
    %431 = llvm.load %r135 : !llvm.ptr -> i64
    %432 = llvm.inttoptr %431 : i64 to !llvm.ptr
    %433 = llvm.load %432 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %433, %r141 : i32, !llvm.ptr
    %434 = llvm.load %r141 : !llvm.ptr -> i32
    %435 = llvm.and %434, %340 : i32
    %436 = llvm.mlir.addressof @check.variable.31 : !llvm.ptr
    %437 = llvm.ptrtoint %436 : !llvm.ptr to i64
    llvm.store %437, %r126 : i64, !llvm.ptr
    %439 = llvm.icmp "eq" %435, %438 : i32
    llvm.cond_br %439, ^b34, ^b33
  ^b33:
    %440 = llvm.load %r141 : !llvm.ptr -> i32
    %441 = llvm.and %440, %438 : i32
    %442 = llvm.icmp "eq" %441, %3 : i32
    %443 = llvm.mlir.addressof @check.variable.32 : !llvm.ptr
    %444 = llvm.ptrtoint %443 : !llvm.ptr to i64
    %445 = llvm.mlir.addressof @check.variable.33 : !llvm.ptr
    %446 = llvm.ptrtoint %445 : !llvm.ptr to i64
    %447 = llvm.select %442, %446, %444 : i1, i64
    llvm.store %447, %r126 : i64, !llvm.ptr
    llvm.br ^b34
  ^b34:
    %448 = llvm.mlir.addressof @check.variable.43 : !llvm.ptr
    %449 = llvm.ptrtoint %448 : !llvm.ptr to i64
    %450 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %450, %19 <alignment = 8> : i64, !llvm.ptr
    llvm.store %449, %20 <alignment = 8> : i64, !llvm.ptr
    %451 = llvm.load %19 <alignment = 8> : !llvm.ptr -> i64
    %452 = llvm.load %20 <alignment = 8> : !llvm.ptr -> i64
    %453 = llvm.call @check.begins.43(%451, %452) : (i64, i64) -> i32
    llvm.store %453, %21 <alignment = 4> : i32, !llvm.ptr
    %454 = llvm.load %21 <alignment = 4> : !llvm.ptr -> i32
    %455 = llvm.icmp "ne" %454, %3 : i32
    llvm.cond_br %455, ^b36, ^b35
  ^b35:
    %456 = llvm.mlir.addressof @check.variable.44 : !llvm.ptr
    %457 = llvm.ptrtoint %456 : !llvm.ptr to i64
    %458 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %458, %22 <alignment = 8> : i64, !llvm.ptr
    llvm.store %457, %23 <alignment = 8> : i64, !llvm.ptr
    %459 = llvm.load %22 <alignment = 8> : !llvm.ptr -> i64
    %460 = llvm.load %23 <alignment = 8> : !llvm.ptr -> i64
    %461 = llvm.call @check.begins.43(%459, %460) : (i64, i64) -> i32
    llvm.store %461, %24 <alignment = 4> : i32, !llvm.ptr
    %462 = llvm.load %24 <alignment = 4> : !llvm.ptr -> i32
    %463 = llvm.icmp "eq" %462, %3 : i32
    llvm.cond_br %463, ^b37, ^b36
  ^b36:
    %464 = llvm.load %r73 : !llvm.ptr -> i64
    %465 = llvm.inttoptr %464 : i64 to !llvm.ptr
    %466 = llvm.getelementptr %465[32] : (!llvm.ptr) -> !llvm.ptr, i8
    %467 = llvm.load %466 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %467, %r126 : i64, !llvm.ptr
    llvm.br ^b37
  ^b37:
    %468 = llvm.mlir.addressof @check.variable.45 : !llvm.ptr
    %469 = llvm.ptrtoint %468 : !llvm.ptr to i64
    %470 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %470, %25 <alignment = 8> : i64, !llvm.ptr
    llvm.store %469, %26 <alignment = 8> : i64, !llvm.ptr
    %471 = llvm.load %25 <alignment = 8> : !llvm.ptr -> i64
    %472 = llvm.load %26 <alignment = 8> : !llvm.ptr -> i64
    %473 = llvm.call @check.begins.43(%471, %472) : (i64, i64) -> i32
    llvm.store %473, %27 <alignment = 4> : i32, !llvm.ptr
    %474 = llvm.load %27 <alignment = 4> : !llvm.ptr -> i32
    %475 = llvm.icmp "eq" %474, %3 : i32
    llvm.cond_br %475, ^b39, ^b38
  ^b38:
    %476 = llvm.load %r73 : !llvm.ptr -> i64
    %477 = llvm.inttoptr %476 : i64 to !llvm.ptr
    %478 = llvm.getelementptr %477[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %479 = llvm.load %478 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %479, %r126 : i64, !llvm.ptr
    llvm.br ^b39
  ^b39:
    %480 = llvm.mlir.addressof @check.variable.46 : !llvm.ptr
    %481 = llvm.ptrtoint %480 : !llvm.ptr to i64
    %482 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %482, %28 <alignment = 8> : i64, !llvm.ptr
    llvm.store %481, %29 <alignment = 8> : i64, !llvm.ptr
    %483 = llvm.load %28 <alignment = 8> : !llvm.ptr -> i64
    %484 = llvm.load %29 <alignment = 8> : !llvm.ptr -> i64
    %485 = llvm.call @check.begins.43(%483, %484) : (i64, i64) -> i32
    llvm.store %485, %30 <alignment = 4> : i32, !llvm.ptr
    %486 = llvm.load %30 <alignment = 4> : !llvm.ptr -> i32
    %487 = llvm.icmp "eq" %486, %3 : i32
    llvm.cond_br %487, ^b41, ^b40
  ^b40:
    %488 = llvm.load %r73 : !llvm.ptr -> i64
    %489 = llvm.inttoptr %488 : i64 to !llvm.ptr
    %490 = llvm.getelementptr %489[40] : (!llvm.ptr) -> !llvm.ptr, i8
    %491 = llvm.load %490 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %491, %r126 : i64, !llvm.ptr
    llvm.br ^b41
  ^b41:
    %492 = llvm.load %r126 : !llvm.ptr -> i64
    %493 = llvm.icmp "eq" %492, %2 : i64
    llvm.cond_br %493, ^b43, ^b42
  ^b42:
    %494 = llvm.load %r126 : !llvm.ptr -> i64
    llvm.store %494, %31 <alignment = 8> : i64, !llvm.ptr
    %495 = llvm.load %r109 : !llvm.ptr -> i64
    llvm.store %495, %32 <alignment = 8> : i64, !llvm.ptr
    %496 = llvm.load %31 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %497 = llvm.load %32 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %498 = llvm.call @fputs(%496, %497) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.store %498, %33 <alignment = 4> : i32, !llvm.ptr
    %499 = llvm.load %33 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b70
  ^b43:
    %500 = llvm.load %r73 : !llvm.ptr -> i64
    %501 = llvm.inttoptr %500 : i64 to !llvm.ptr
    %502 = llvm.getelementptr %501[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %503 = llvm.load %502 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %503, %r169 : i64, !llvm.ptr
    %504 = llvm.mlir.addressof @check.variable.47 : !llvm.ptr
    %505 = llvm.ptrtoint %504 : !llvm.ptr to i64
    %506 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %506, %34 <alignment = 8> : i64, !llvm.ptr
    llvm.store %505, %35 <alignment = 8> : i64, !llvm.ptr
    %507 = llvm.load %34 <alignment = 8> : !llvm.ptr -> i64
    %508 = llvm.load %35 <alignment = 8> : !llvm.ptr -> i64
    %509 = llvm.call @check.begins.43(%507, %508) : (i64, i64) -> i32
    llvm.store %509, %36 <alignment = 4> : i32, !llvm.ptr
    %510 = llvm.load %36 <alignment = 4> : !llvm.ptr -> i32
    %511 = llvm.icmp "eq" %510, %3 : i32
    llvm.cond_br %511, ^b45, ^b44
  ^b44:
    %512 = llvm.load %r73 : !llvm.ptr -> i64
    %513 = llvm.inttoptr %512 : i64 to !llvm.ptr
    %514 = llvm.getelementptr %513[40] : (!llvm.ptr) -> !llvm.ptr, i8
    %515 = llvm.load %514 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %515, %r169 : i64, !llvm.ptr
    llvm.br ^b45
  ^b45:
    %516 = llvm.mlir.addressof @check.variable.48 : !llvm.ptr
    %517 = llvm.ptrtoint %516 : !llvm.ptr to i64
    %518 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %518, %37 <alignment = 8> : i64, !llvm.ptr
    llvm.store %517, %38 <alignment = 8> : i64, !llvm.ptr
    %519 = llvm.load %37 <alignment = 8> : !llvm.ptr -> i64
    %520 = llvm.load %38 <alignment = 8> : !llvm.ptr -> i64
    %521 = llvm.call @check.begins.43(%519, %520) : (i64, i64) -> i32
    llvm.store %521, %39 <alignment = 4> : i32, !llvm.ptr
    %522 = llvm.load %39 <alignment = 4> : !llvm.ptr -> i32
    %523 = llvm.icmp "ne" %522, %3 : i32
    llvm.cond_br %523, ^b47, ^b46
  ^b46:
    %524 = llvm.mlir.addressof @check.variable.49 : !llvm.ptr
    %525 = llvm.ptrtoint %524 : !llvm.ptr to i64
    %526 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %526, %40 <alignment = 8> : i64, !llvm.ptr
    llvm.store %525, %41 <alignment = 8> : i64, !llvm.ptr
    %527 = llvm.load %40 <alignment = 8> : !llvm.ptr -> i64
    %528 = llvm.load %41 <alignment = 8> : !llvm.ptr -> i64
    %529 = llvm.call @check.begins.43(%527, %528) : (i64, i64) -> i32
    llvm.store %529, %42 <alignment = 4> : i32, !llvm.ptr
    %530 = llvm.load %42 <alignment = 4> : !llvm.ptr -> i32
    %531 = llvm.icmp "eq" %530, %3 : i32
    llvm.cond_br %531, ^b48, ^b47
  ^b47:
    %532 = llvm.load %r73 : !llvm.ptr -> i64
    %533 = llvm.inttoptr %532 : i64 to !llvm.ptr
    %534 = llvm.getelementptr %533[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %535 = llvm.load %534 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %535, %r169 : i64, !llvm.ptr
    llvm.br ^b48
  ^b48:
    %536 = llvm.mlir.addressof @check.variable.50 : !llvm.ptr
    %537 = llvm.ptrtoint %536 : !llvm.ptr to i64
    %538 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %538, %43 <alignment = 8> : i64, !llvm.ptr
    llvm.store %537, %44 <alignment = 8> : i64, !llvm.ptr
    %539 = llvm.load %43 <alignment = 8> : !llvm.ptr -> i64
    %540 = llvm.load %44 <alignment = 8> : !llvm.ptr -> i64
    %541 = llvm.call @check.begins.43(%539, %540) : (i64, i64) -> i32
    llvm.store %541, %45 <alignment = 4> : i32, !llvm.ptr
    %542 = llvm.load %45 <alignment = 4> : !llvm.ptr -> i32
    %543 = llvm.icmp "eq" %542, %3 : i32
    %544 = llvm.mlir.addressof @check.variable.51 : !llvm.ptr
    %545 = llvm.ptrtoint %544 : !llvm.ptr to i64
    %546 = llvm.mlir.addressof @check.variable.52 : !llvm.ptr
    %547 = llvm.ptrtoint %546 : !llvm.ptr to i64
    %548 = llvm.select %543, %547, %545 : i1, i64
    %549 = llvm.load %r109 : !llvm.ptr -> i64
    llvm.store %549, %46 <alignment = 8> : i64, !llvm.ptr
    llvm.store %548, %47 <alignment = 8> : i64, !llvm.ptr
    %550 = llvm.load %r169 : !llvm.ptr -> i64
    llvm.store %550, %48 <alignment = 8> : i64, !llvm.ptr
    %551 = llvm.load %46 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %552 = llvm.load %47 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %553 = llvm.load %48 <alignment = 8> : !llvm.ptr -> i64
    %554 = llvm.call @fprintf(%551, %552, %553)vararg(!llvm.func<i32 (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, i64) -> i32
    llvm.store %554, %49 <alignment = 4> : i32, !llvm.ptr
    %555 = llvm.load %49 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b70
  ^b49:
    %556 = llvm.load %r118 : !llvm.ptr -> i16
    %558 = llvm.icmp "eq" %556, %557 : i16
    llvm.cond_br %558, ^b51, ^b50
  ^b50:
    llvm.br ^b54
  ^b51:
    %559 = llvm.load %r110 : !llvm.ptr -> i64
    %560 = llvm.add %559, %168 : i64
    %561 = llvm.mlir.addressof @check.variable.34 : !llvm.ptr
    %562 = llvm.ptrtoint %561 : !llvm.ptr to i64
    llvm.store %560, %50 <alignment = 8> : i64, !llvm.ptr
    llvm.store %562, %51 <alignment = 8> : i64, !llvm.ptr
    %563 = llvm.load %50 <alignment = 8> : !llvm.ptr -> i64
    %564 = llvm.load %51 <alignment = 8> : !llvm.ptr -> i64
    %565 = llvm.call @check.begins.43(%563, %564) : (i64, i64) -> i32
    llvm.store %565, %52 <alignment = 4> : i32, !llvm.ptr
    %566 = llvm.load %52 <alignment = 4> : !llvm.ptr -> i32
    %567 = llvm.icmp "ne" %566, %3 : i32
    %568 = llvm.load %r110 : !llvm.ptr -> i64
    %570 = llvm.add %568, %569 : i64
    %571 = llvm.select %567, %570, %560 : i1, i64
    llvm.store %571, %r123 : i64, !llvm.ptr
    %572 = llvm.load %r8 : !llvm.ptr -> i64
    %573 = llvm.inttoptr %572 : i64 to !llvm.ptr
    %574 = llvm.load %573 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %574, %r199 : i64, !llvm.ptr
    llvm.cond_br %567, ^b53, ^b52
  ^b52:
    llvm.br ^b55
  ^b53:
    %575 = llvm.load %r120 : !llvm.ptr -> i64
    %576 = llvm.inttoptr %575 : i64 to !llvm.ptr
    %577 = llvm.getelementptr %576[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %578 = llvm.load %577 <alignment = 4> : !llvm.ptr -> i32
    %579 = llvm.icmp "uge" %175, %176 : i32
    %580 = llvm.select %579, %3, %175 : i1, i32
    %581 = llvm.lshr %578, %580 : i32
    %582 = llvm.select %579, %3, %581 : i1, i32
    %583 = llvm.load %r8 : !llvm.ptr -> i64
    %584 = llvm.inttoptr %583 : i64 to !llvm.ptr
    %585 = llvm.getelementptr %584[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %586 = llvm.load %585 <alignment = 8> : !llvm.ptr -> i64
    %587 = llvm.zext %582 : i32 to i64
    %588 = llvm.zext %169 : i32 to i64
    %589 = llvm.mul %587, %588 : i64
    %590 = llvm.add %586, %589 : i64
    llvm.store %590, %r135 : i64, !llvm.ptr
    %592 = llvm.and %578, %591 : i32
    llvm.store %592, %r204 : i32, !llvm.ptr
    llvm.br ^b56
  ^b54:
    %593 = llvm.load %r118 : !llvm.ptr -> i16
    %594 = llvm.zext %593 : i16 to i32
    %595 = llvm.trunc %594 : i32 to i8
    %596 = llvm.sext %595 : i8 to i32
    llvm.store %596, %53 <alignment = 4> : i32, !llvm.ptr
    %597 = llvm.load %r109 : !llvm.ptr -> i64
    llvm.store %597, %54 <alignment = 8> : i64, !llvm.ptr
    %598 = llvm.load %53 <alignment = 4> : !llvm.ptr -> i32
    %599 = llvm.load %54 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %600 = llvm.call @fputc(%598, %599) : (i32, !llvm.ptr) -> i32
    llvm.store %600, %55 <alignment = 4> : i32, !llvm.ptr
    %601 = llvm.load %55 <alignment = 4> : !llvm.ptr -> i32
    %602 = llvm.load %r110 : !llvm.ptr -> i64
    %603 = llvm.add %602, %168 : i64
    llvm.store %603, %r110 : i64, !llvm.ptr
    llvm.br ^b71
  ^b55:
    %604 = llvm.load %r73 : !llvm.ptr -> i64
    %605 = llvm.inttoptr %604 : i64 to !llvm.ptr
    %606 = llvm.getelementptr %605[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %607 = llvm.load %606 <alignment = 4> : !llvm.ptr -> i32
    %608 = llvm.load %r8 : !llvm.ptr -> i64
    %609 = llvm.inttoptr %608 : i64 to !llvm.ptr
    %610 = llvm.getelementptr %609[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %611 = llvm.load %610 <alignment = 8> : !llvm.ptr -> i64
    %612 = llvm.zext %607 : i32 to i64
    %613 = llvm.zext %169 : i32 to i64
    %614 = llvm.mul %612, %613 : i64
    %615 = llvm.add %611, %614 : i64
    llvm.store %615, %r135 : i64, !llvm.ptr
    %616 = llvm.load %r73 : !llvm.ptr -> i64
    %617 = llvm.inttoptr %616 : i64 to !llvm.ptr
    %618 = llvm.getelementptr %617[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %619 = llvm.load %618 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %619, %r204 : i32, !llvm.ptr
    llvm.br ^b56
  ^b56:
    %620 = llvm.load %r199 : !llvm.ptr -> i64
    %622 = llvm.add %620, %621 : i64
    llvm.store %622, %r128 : i64, !llvm.ptr
    %623 = llvm.load %r199 : !llvm.ptr -> i64
    %624 = llvm.inttoptr %623 : i64 to !llvm.ptr
    %625 = llvm.getelementptr %624[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %626 = llvm.load %625 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %626, %r211 : i32, !llvm.ptr
    %627 = llvm.load %r204 : !llvm.ptr -> i32
    %628 = llvm.load %r211 : !llvm.ptr -> i32
    %629 = llvm.icmp "eq" %628, %3 : i32
    %630 = llvm.select %629, %1, %628 : i1, i32
    %631 = llvm.udiv %627, %630 : i32
    %633 = llvm.select %629, %632, %631 : i1, i32
    llvm.store %633, %r212 : i32, !llvm.ptr
    %634 = llvm.mlir.addressof @check.variable.35 : !llvm.ptr
    %635 = llvm.ptrtoint %634 : !llvm.ptr to i64
    %636 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %636, %56 <alignment = 8> : i64, !llvm.ptr
    llvm.store %635, %57 <alignment = 8> : i64, !llvm.ptr
    %637 = llvm.load %56 <alignment = 8> : !llvm.ptr -> i64
    %638 = llvm.load %57 <alignment = 8> : !llvm.ptr -> i64
    %639 = llvm.call @check.begins.43(%637, %638) : (i64, i64) -> i32
    llvm.store %639, %58 <alignment = 4> : i32, !llvm.ptr
    %640 = llvm.load %58 <alignment = 4> : !llvm.ptr -> i32
    %641 = llvm.icmp "ne" %640, %3 : i32
    llvm.store %641, %r216 : i1, !llvm.ptr
    %642 = llvm.load %r216 : !llvm.ptr -> i1
    llvm.cond_br %642, ^b58, ^b57
  ^b57:
    llvm.br ^b59
  ^b58:
    %643 = llvm.load %r8 : !llvm.ptr -> i64
    %644 = llvm.inttoptr %643 : i64 to !llvm.ptr
    %645 = llvm.getelementptr %644[64] : (!llvm.ptr) -> !llvm.ptr, i8
    %646 = llvm.load %645 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %646, %r217 : i32, !llvm.ptr
    llvm.br ^b61
  ^b59:
    %647 = llvm.mlir.addressof @check.variable.36 : !llvm.ptr
    %648 = llvm.ptrtoint %647 : !llvm.ptr to i64
    %649 = llvm.load %r123 : !llvm.ptr -> i64
    llvm.store %649, %59 <alignment = 8> : i64, !llvm.ptr
    llvm.store %648, %60 <alignment = 8> : i64, !llvm.ptr
    %650 = llvm.load %59 <alignment = 8> : !llvm.ptr -> i64
    %651 = llvm.load %60 <alignment = 8> : !llvm.ptr -> i64
    %652 = llvm.call @check.begins.43(%650, %651) : (i64, i64) -> i32
    llvm.store %652, %61 <alignment = 4> : i32, !llvm.ptr
    %653 = llvm.load %61 <alignment = 4> : !llvm.ptr -> i32
    %654 = llvm.icmp "eq" %653, %3 : i32
    llvm.cond_br %654, ^b27, ^b60
  ^b60:
    %655 = llvm.load %r204 : !llvm.ptr -> i32
    %656 = llvm.load %r211 : !llvm.ptr -> i32
    %657 = llvm.icmp "eq" %656, %3 : i32
    %658 = llvm.select %657, %1, %656 : i1, i32
    %659 = llvm.urem %655, %658 : i32
    %660 = llvm.select %657, %632, %659 : i1, i32
    llvm.store %660, %r217 : i32, !llvm.ptr
    llvm.br ^b61
  ^b61:
    %661 = llvm.mlir.addressof @check.variable.37 : !llvm.ptr
    %662 = llvm.ptrtoint %661 : !llvm.ptr to i64
    %663 = llvm.load %r109 : !llvm.ptr -> i64
    llvm.store %663, %62 <alignment = 8> : i64, !llvm.ptr
    llvm.store %662, %63 <alignment = 8> : i64, !llvm.ptr
    %664 = llvm.load %r217 : !llvm.ptr -> i32
    llvm.store %664, %64 <alignment = 4> : i32, !llvm.ptr
    %665 = llvm.load %62 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %666 = llvm.load %63 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %667 = llvm.load %64 <alignment = 4> : !llvm.ptr -> i32
    %668 = llvm.call @fprintf(%665, %666, %667)vararg(!llvm.func<i32 (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, i32) -> i32
    llvm.store %668, %65 <alignment = 4> : i32, !llvm.ptr
    %669 = llvm.load %65 <alignment = 4> : !llvm.ptr -> i32
    %670 = llvm.load %r216 : !llvm.ptr -> i1
    llvm.cond_br %670, ^b63, ^b62
  ^b62:
    llvm.br ^b64
  ^b63:
    %671 = llvm.load %r69 : !llvm.ptr -> i64
    %672 = llvm.inttoptr %671 : i64 to !llvm.ptr
    %673 = llvm.getelementptr %672[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %674 = llvm.load %673 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %674, %r225 : i32, !llvm.ptr
    llvm.br ^b65
  ^b64:
    %675 = llvm.load %r128 : !llvm.ptr -> i64
    %676 = llvm.inttoptr %675 : i64 to !llvm.ptr
    %677 = llvm.getelementptr %676[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %678 = llvm.load %677 <alignment = 4> : !llvm.ptr -> i32
    %679 = llvm.load %r212 : !llvm.ptr -> i32
    %680 = llvm.icmp "eq" %678, %3 : i32
    %681 = llvm.select %680, %1, %678 : i1, i32
    %682 = llvm.urem %679, %681 : i32
    %683 = llvm.select %680, %632, %682 : i1, i32
    llvm.store %683, %r225 : i32, !llvm.ptr
    llvm.br ^b65
  ^b65:
    %684 = llvm.mlir.addressof @check.variable.38 : !llvm.ptr
    %685 = llvm.ptrtoint %684 : !llvm.ptr to i64
    %686 = llvm.load %r109 : !llvm.ptr -> i64
    llvm.store %686, %66 <alignment = 8> : i64, !llvm.ptr
    llvm.store %685, %67 <alignment = 8> : i64, !llvm.ptr
    %687 = llvm.load %r225 : !llvm.ptr -> i32
    llvm.store %687, %68 <alignment = 4> : i32, !llvm.ptr
    %688 = llvm.load %66 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %689 = llvm.load %67 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %690 = llvm.load %68 <alignment = 4> : !llvm.ptr -> i32
    %691 = llvm.call @fprintf(%688, %689, %690)vararg(!llvm.func<i32 (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, i32) -> i32
    llvm.store %691, %69 <alignment = 4> : i32, !llvm.ptr
    %692 = llvm.load %69 <alignment = 4> : !llvm.ptr -> i32
    %693 = llvm.load %r216 : !llvm.ptr -> i1
    llvm.cond_br %693, ^b67, ^b66
  ^b66:
    llvm.br ^b68
  ^b67:
    %694 = llvm.load %r8 : !llvm.ptr -> i64
    %695 = llvm.inttoptr %694 : i64 to !llvm.ptr
    %696 = llvm.getelementptr %695[72] : (!llvm.ptr) -> !llvm.ptr, i8
    %697 = llvm.load %696 <alignment = 4> : !llvm.ptr -> i32
    llvm.store %697, %r230 : i32, !llvm.ptr
    llvm.br ^b69
  ^b68:
    %698 = llvm.load %r128 : !llvm.ptr -> i64
    %699 = llvm.inttoptr %698 : i64 to !llvm.ptr
    %700 = llvm.getelementptr %699[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %701 = llvm.load %700 <alignment = 4> : !llvm.ptr -> i32
    %702 = llvm.load %r212 : !llvm.ptr -> i32
    %703 = llvm.icmp "eq" %701, %3 : i32
    %704 = llvm.select %703, %1, %701 : i1, i32
    %705 = llvm.udiv %702, %704 : i32
    %706 = llvm.select %703, %632, %705 : i1, i32
    llvm.store %706, %r230 : i32, !llvm.ptr
    llvm.br ^b69
  ^b69:
    %707 = llvm.mlir.addressof @check.variable.39 : !llvm.ptr
    %708 = llvm.ptrtoint %707 : !llvm.ptr to i64
    %709 = llvm.load %r109 : !llvm.ptr -> i64
    llvm.store %709, %70 <alignment = 8> : i64, !llvm.ptr
    llvm.store %708, %71 <alignment = 8> : i64, !llvm.ptr
    %710 = llvm.load %r230 : !llvm.ptr -> i32
    llvm.store %710, %72 <alignment = 4> : i32, !llvm.ptr
    %711 = llvm.load %70 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %712 = llvm.load %71 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %713 = llvm.load %72 <alignment = 4> : !llvm.ptr -> i32
    %714 = llvm.call @fprintf(%711, %712, %713)vararg(!llvm.func<i32 (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, i32) -> i32
    llvm.store %714, %73 <alignment = 4> : i32, !llvm.ptr
    %715 = llvm.load %73 <alignment = 4> : !llvm.ptr -> i32
    llvm.br ^b70
  ^b70:
    %716 = llvm.load %r110 : !llvm.ptr -> i64
    %717 = llvm.inttoptr %716 : i64 to !llvm.ptr
    %718 = llvm.load %717 <alignment = 1> : !llvm.ptr -> i8
    %719 = llvm.zext %718 : i8 to i16
    %721 = llvm.icmp "ne" %719, %720 : i16
    %722 = llvm.load %r110 : !llvm.ptr -> i64
    %723 = llvm.add %722, %168 : i64
    llvm.store %723, %r110 : i64, !llvm.ptr
    llvm.cond_br %721, ^b70, ^b71
  ^b71:
    %724 = llvm.load %r110 : !llvm.ptr -> i64
    %725 = llvm.inttoptr %724 : i64 to !llvm.ptr
    %726 = llvm.load %725 <alignment = 1> : !llvm.ptr -> i8
    %727 = llvm.zext %726 : i8 to i16
    llvm.store %727, %r118 : i16, !llvm.ptr
    %728 = llvm.load %r118 : !llvm.ptr -> i16
    %729 = llvm.icmp "ne" %728, %4 : i16
    llvm.cond_br %729, ^b49, ^b72
  ^b72:
    %730 = llvm.load %r109 : !llvm.ptr -> i64
    llvm.store %730, %74 <alignment = 8> : i64, !llvm.ptr
    %731 = llvm.load %74 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %732 = llvm.call @fclose(%731) : (!llvm.ptr) -> i32
    llvm.store %732, %75 <alignment = 4> : i32, !llvm.ptr
    %733 = llvm.load %75 <alignment = 4> : !llvm.ptr -> i32
    %734 = llvm.mlir.addressof @check.variable.18 : !llvm.ptr
    %735 = llvm.load %734 <alignment = 4> : !llvm.ptr -> i32
    %736 = llvm.zext %735 : i32 to i64
    llvm.store %736, %r239 : i64, !llvm.ptr
    %738 = llvm.load %r239 : !llvm.ptr -> i64
    %739 = llvm.sub %737, %738 : i64
    %740 = llvm.load %r7 : !llvm.ptr -> i64
    %741 = llvm.inttoptr %740 : i64 to !llvm.ptr
    %742 = llvm.load %741 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %742, %r242 : i64, !llvm.ptr
    %743 = llvm.load %r242 : !llvm.ptr -> i64
    %744 = llvm.call_intrinsic "llvm.umin"(%743, %739) : (i64, i64) -> i64
    llvm.store %744, %r243 : i64, !llvm.ptr
    %745 = llvm.load %r243 : !llvm.ptr -> i64
    %746 = llvm.icmp "eq" %745, %2 : i64
    llvm.cond_br %746, ^b75, ^b73
  ^b73:
    %747 = llvm.load %r5 : !llvm.ptr -> i64
    %748 = llvm.inttoptr %747 : i64 to !llvm.ptr
    %749 = llvm.load %748 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %749, %r245 : i64, !llvm.ptr
    llvm.store %2, %r246 : i64, !llvm.ptr
    llvm.br ^b74
  ^b74:
    %750 = llvm.load %r245 : !llvm.ptr -> i64
    %751 = llvm.load %r246 : !llvm.ptr -> i64
    %752 = llvm.add %750, %751 : i64
    %753 = llvm.inttoptr %752 : i64 to !llvm.ptr
    %754 = llvm.load %753 <alignment = 1> : !llvm.ptr -> i8
    %755 = llvm.zext %754 : i8 to i16
    %756 = llvm.load %r246 : !llvm.ptr -> i64
    %757 = llvm.load %r239 : !llvm.ptr -> i64
    %758 = llvm.add %756, %757 : i64
    %759 = llvm.mlir.addressof @check.variable.17 : !llvm.ptr
    %760 = llvm.ptrtoint %759 : !llvm.ptr to i64
    %761 = llvm.add %760, %758 : i64
    %762 = llvm.inttoptr %761 : i64 to !llvm.ptr
    %763 = llvm.trunc %755 : i16 to i8
    llvm.store %763, %762 <alignment = 1> : i8, !llvm.ptr
    %764 = llvm.load %r246 : !llvm.ptr -> i64
    %765 = llvm.add %764, %168 : i64
    llvm.store %765, %r246 : i64, !llvm.ptr
    %766 = llvm.load %r246 : !llvm.ptr -> i64
    %767 = llvm.load %r243 : !llvm.ptr -> i64
    %768 = llvm.icmp "ult" %766, %767 : i64
    llvm.cond_br %768, ^b74, ^b75
  ^b75:
    %769 = llvm.load %r239 : !llvm.ptr -> i64
    %770 = llvm.trunc %769 : i64 to i32
    %771 = llvm.load %r243 : !llvm.ptr -> i64
    %772 = llvm.load %r239 : !llvm.ptr -> i64
    %773 = llvm.add %771, %772 : i64
    %774 = llvm.mlir.addressof @check.variable.17 : !llvm.ptr
    %775 = llvm.ptrtoint %774 : !llvm.ptr to i64
    %776 = llvm.add %775, %773 : i64
    %777 = llvm.inttoptr %776 : i64 to !llvm.ptr
    %778 = llvm.trunc %4 : i16 to i8
    llvm.store %778, %777 <alignment = 1> : i8, !llvm.ptr
    %779 = llvm.load %r243 : !llvm.ptr -> i64
    %780 = llvm.trunc %779 : i64 to i32
    %781 = llvm.add %770, %780 : i32
    %782 = llvm.mlir.addressof @check.variable.18 : !llvm.ptr
    llvm.store %781, %782 <alignment = 4> : i32, !llvm.ptr
    %783 = llvm.mlir.addressof @check.variable.20 : !llvm.ptr
    %784 = llvm.load %783 <alignment = 4> : !llvm.ptr -> i32
    %785 = llvm.icmp "ne" %784, %3 : i32
    llvm.cond_br %785, ^b77, ^b76
  ^b76:
    %786 = llvm.load %r5 : !llvm.ptr -> i64
    %787 = llvm.inttoptr %786 : i64 to !llvm.ptr
    %788 = llvm.load %787 <alignment = 8> : !llvm.ptr -> i64
    %789 = llvm.load %r242 : !llvm.ptr -> i64
    %790 = llvm.add %788, %789 : i64
    %792 = llvm.inttoptr %790 : i64 to !llvm.ptr
    %793 = llvm.trunc %791 : i16 to i8
    llvm.store %793, %792 <alignment = 1> : i8, !llvm.ptr
    %794 = llvm.load %r5 : !llvm.ptr -> i64
    %795 = llvm.inttoptr %794 : i64 to !llvm.ptr
    %796 = llvm.load %795 <alignment = 8> : !llvm.ptr -> i64
    %797 = llvm.add %796, %168 : i64
    %798 = llvm.load %r7 : !llvm.ptr -> i64
    %799 = llvm.inttoptr %798 : i64 to !llvm.ptr
    %800 = llvm.load %799 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %438, %76 <alignment = 4> : i32, !llvm.ptr
    llvm.store %797, %77 <alignment = 8> : i64, !llvm.ptr
    llvm.store %800, %78 <alignment = 8> : i64, !llvm.ptr
    %801 = llvm.load %76 <alignment = 4> : !llvm.ptr -> i32
    %802 = llvm.load %77 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    %803 = llvm.load %78 <alignment = 8> : !llvm.ptr -> i64
    %804 = llvm.call @write(%801, %802, %803) : (i32, !llvm.ptr, i64) -> i64
    llvm.store %804, %79 <alignment = 8> : i64, !llvm.ptr
    %805 = llvm.load %79 <alignment = 8> : !llvm.ptr -> i64
    llvm.br ^b77
  ^b77:
    %806 = llvm.load %r5 : !llvm.ptr -> i64
    %807 = llvm.inttoptr %806 : i64 to !llvm.ptr
    %808 = llvm.load %807 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %808, %80 <alignment = 8> : i64, !llvm.ptr
    %809 = llvm.load %80 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    llvm.call @free(%809) : (!llvm.ptr) -> ()
    llvm.br ^b78
  ^b78:
    %810 = llvm.load %r70 : !llvm.ptr -> i32
    %811 = llvm.add %810, %1 : i32
    llvm.store %811, %r70 : i32, !llvm.ptr
    %812 = llvm.load %r70 : !llvm.ptr -> i32
    %813 = llvm.load %r65 : !llvm.ptr -> i32
    %814 = llvm.icmp "ult" %812, %813 : i32
    llvm.cond_br %814, ^b15, ^b79
  ^b79:
    llvm.fence seq_cst
    %815 = llvm.load %r60 : !llvm.ptr -> i64
    %816 = llvm.inttoptr %815 : i64 to !llvm.ptr
    %817 = llvm.atomicrmw xchg %816, %3 seq_cst : !llvm.ptr, i32
    llvm.br ^b80
  ^b80:
    %818 = llvm.load %r8 : !llvm.ptr -> i64
    %819 = llvm.inttoptr %818 : i64 to !llvm.ptr
    %820 = llvm.getelementptr %819[152] : (!llvm.ptr) -> !llvm.ptr, i8
    %821 = llvm.load %820 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %821, %r272 : i64, !llvm.ptr
    %822 = llvm.load %r272 : !llvm.ptr -> i64
    %823 = llvm.icmp "eq" %822, %2 : i64
    llvm.cond_br %823, ^b82, ^b81
  ^b81:
    %824 = llvm.load %r272 : !llvm.ptr -> i64
    %825 = llvm.inttoptr %824 : i64 to !llvm.ptr
    %826 = llvm.load %825 <alignment = 8> : !llvm.ptr -> i64
    %827 = llvm.load %r8 : !llvm.ptr -> i64
    %828 = llvm.inttoptr %827 : i64 to !llvm.ptr
    %829 = llvm.getelementptr %828[152] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %826, %829 <alignment = 8> : i64, !llvm.ptr
    %830 = llvm.load %r272 : !llvm.ptr -> i64
    llvm.store %830, %81 <alignment = 8> : i64, !llvm.ptr
    %831 = llvm.load %81 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    llvm.call @free(%831) : (!llvm.ptr) -> ()
    %832 = llvm.load %r8 : !llvm.ptr -> i64
    %833 = llvm.inttoptr %832 : i64 to !llvm.ptr
    %834 = llvm.getelementptr %833[152] : (!llvm.ptr) -> !llvm.ptr, i8
    %835 = llvm.load %834 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %835, %r272 : i64, !llvm.ptr
    %836 = llvm.load %r272 : !llvm.ptr -> i64
    %837 = llvm.icmp "ne" %836, %2 : i64
    llvm.cond_br %837, ^b81, ^b82
  ^b82:
    %838 = llvm.load %r8 : !llvm.ptr -> i64
    %839 = llvm.inttoptr %838 : i64 to !llvm.ptr
    %840 = llvm.load %839 <alignment = 8> : !llvm.ptr -> i64
    %841 = llvm.inttoptr %840 : i64 to !llvm.ptr
    %842 = llvm.getelementptr %841[28] : (!llvm.ptr) -> !llvm.ptr, i8
    %843 = llvm.load %842 <alignment = 4> : !llvm.ptr -> i32
    %844 = llvm.icmp "eq" %843, %3 : i32
    llvm.cond_br %844, ^b85, ^b83
  ^b83:
    llvm.store %3, %r279 : i32, !llvm.ptr
    llvm.br ^b84
  ^b84:
    %845 = llvm.load %r8 : !llvm.ptr -> i64
    %846 = llvm.inttoptr %845 : i64 to !llvm.ptr
    %847 = llvm.getelementptr %846[48] : (!llvm.ptr) -> !llvm.ptr, i8
    %848 = llvm.load %847 <alignment = 8> : !llvm.ptr -> i64
    %849 = llvm.load %r279 : !llvm.ptr -> i32
    %850 = llvm.zext %849 : i32 to i64
    %851 = llvm.zext %176 : i32 to i64
    %852 = llvm.mul %850, %851 : i64
    %853 = llvm.add %848, %852 : i64
    %854 = llvm.inttoptr %853 : i64 to !llvm.ptr
    %855 = llvm.getelementptr %854[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %856 = llvm.load %855 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %856, %82 <alignment = 8> : i64, !llvm.ptr
    %857 = llvm.load %82 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    llvm.call @free(%857) : (!llvm.ptr) -> ()
    %858 = llvm.load %r8 : !llvm.ptr -> i64
    %859 = llvm.inttoptr %858 : i64 to !llvm.ptr
    %860 = llvm.load %859 <alignment = 8> : !llvm.ptr -> i64
    %861 = llvm.inttoptr %860 : i64 to !llvm.ptr
    %862 = llvm.getelementptr %861[28] : (!llvm.ptr) -> !llvm.ptr, i8
    %863 = llvm.load %862 <alignment = 4> : !llvm.ptr -> i32
    %864 = llvm.load %r279 : !llvm.ptr -> i32
    %865 = llvm.add %864, %1 : i32
    llvm.store %865, %r279 : i32, !llvm.ptr
    %866 = llvm.load %r279 : !llvm.ptr -> i32
    %867 = llvm.icmp "ult" %866, %863 : i32
    llvm.cond_br %867, ^b84, ^b85
  ^b85:
    %868 = llvm.load %r8 : !llvm.ptr -> i64
    %869 = llvm.inttoptr %868 : i64 to !llvm.ptr
    %870 = llvm.getelementptr %869[-8] : (!llvm.ptr) -> !llvm.ptr, i8
    %871 = llvm.load %870 <alignment = 8> : !llvm.ptr -> i64
    llvm.store %871, %83 <alignment = 8> : i64, !llvm.ptr
    %872 = llvm.load %83 <alignment = 8> : !llvm.ptr -> !llvm.ptr
    llvm.call @free(%872) : (!llvm.ptr) -> ()
    %873 = llvm.load %r56 : !llvm.ptr -> i32
    llvm.store %873, %r288 : i32, !llvm.ptr
    llvm.br ^exit
  ^b86:
    llvm.br ^exit
  ^exit:
    %874 = llvm.load %r288 : !llvm.ptr -> i32
    llvm.return %874 : i32
  }
  llvm.func internal @check.begins.43(%a0: i64, %a1: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i64) : i64
    %3 = llvm.mlir.constant(0 : i16) : i16
    %4 = llvm.mlir.constant(0 : i32) : i32
    %14 = llvm.mlir.constant(1 : i64) : i64
    %r0 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i64, !llvm.ptr
    %r1 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i64, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %2, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %3, %r5 : i16, !llvm.ptr
    %r7 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %4, %r7 : i32, !llvm.ptr
    %r11 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %4, %r11 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i64, !llvm.ptr
    llvm.store %a1, %r3 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %5 = llvm.load %r1 : !llvm.ptr -> i64
    llvm.store %5, %r0 : i64, !llvm.ptr
    %6 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %6, %r4 : i64, !llvm.ptr
    llvm.br ^b1
  ^b1:
    %7 = llvm.load %r4 : !llvm.ptr -> i64
    %8 = llvm.inttoptr %7 : i64 to !llvm.ptr
    %9 = llvm.load %8 <alignment = 1> : !llvm.ptr -> i8
    %10 = llvm.zext %9 : i8 to i16
    llvm.store %10, %r5 : i16, !llvm.ptr
    %11 = llvm.load %r5 : !llvm.ptr -> i16
    %12 = llvm.icmp "eq" %11, %3 : i16
    llvm.store %1, %r7 : i32, !llvm.ptr
    llvm.cond_br %12, ^b3, ^b2
  ^b2:
    %13 = llvm.load %r0 : !llvm.ptr -> i64
    %15 = llvm.add %13, %14 : i64
    %16 = llvm.load %r4 : !llvm.ptr -> i64
    %17 = llvm.add %16, %14 : i64
    llvm.store %17, %r4 : i64, !llvm.ptr
    %18 = llvm.load %r0 : !llvm.ptr -> i64
    %19 = llvm.inttoptr %18 : i64 to !llvm.ptr
    %20 = llvm.load %19 <alignment = 1> : !llvm.ptr -> i8
    %21 = llvm.zext %20 : i8 to i16
    %22 = llvm.load %r5 : !llvm.ptr -> i16
    %23 = llvm.icmp "eq" %21, %22 : i16
    llvm.store %4, %r7 : i32, !llvm.ptr
    llvm.store %15, %r0 : i64, !llvm.ptr
    llvm.cond_br %23, ^b1, ^b3
  ^b3:
    %24 = llvm.load %r7 : !llvm.ptr -> i32
    llvm.store %24, %r11 : i32, !llvm.ptr
    llvm.br ^exit
  ^b4:
    llvm.br ^exit
  ^exit:
    %25 = llvm.load %r11 : !llvm.ptr -> i32
    llvm.return %25 : i32
  }
  llvm.func internal @check.is_one_of.44(%a0: i32, %a1: i64) -> i32 attributes {no_inline} {
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.mlir.constant(0 : i64) : i64
    %4 = llvm.mlir.constant(0 : i16) : i16
    %24 = llvm.mlir.constant(1 : i64) : i64
    %r0 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r0 : i32, !llvm.ptr
    %r1 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r1 : i32, !llvm.ptr
    %r3 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %3, %r3 : i64, !llvm.ptr
    %r4 = llvm.alloca %1 x i64 : (i32) -> !llvm.ptr
    llvm.store %3, %r4 : i64, !llvm.ptr
    %r5 = llvm.alloca %1 x i16 : (i32) -> !llvm.ptr
    llvm.store %4, %r5 : i16, !llvm.ptr
    %r7 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r7 : i32, !llvm.ptr
    %r8 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r8 : i32, !llvm.ptr
    %r9 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r9 : i32, !llvm.ptr
    %r15 = llvm.alloca %1 x i32 : (i32) -> !llvm.ptr
    llvm.store %2, %r15 : i32, !llvm.ptr
    llvm.store %a0, %r1 : i32, !llvm.ptr
    llvm.store %a1, %r3 : i64, !llvm.ptr
    llvm.br ^b0
  ^b0:
    %5 = llvm.load %r1 : !llvm.ptr -> i32
    llvm.store %5, %r0 : i32, !llvm.ptr
    %6 = llvm.load %r3 : !llvm.ptr -> i64
    llvm.store %6, %r4 : i64, !llvm.ptr
    %7 = llvm.load %r4 : !llvm.ptr -> i64
    %8 = llvm.inttoptr %7 : i64 to !llvm.ptr
    %9 = llvm.load %8 <alignment = 1> : !llvm.ptr -> i8
    %10 = llvm.zext %9 : i8 to i16
    llvm.store %10, %r5 : i16, !llvm.ptr
    %11 = llvm.load %r5 : !llvm.ptr -> i16
    %12 = llvm.icmp "eq" %11, %4 : i16
    llvm.store %2, %r7 : i32, !llvm.ptr
    %13 = llvm.load %r7 : !llvm.ptr -> i32
    llvm.store %13, %r8 : i32, !llvm.ptr
    llvm.cond_br %12, ^b4, ^b1
  ^b1:
    %14 = llvm.load %r0 : !llvm.ptr -> i32
    %15 = llvm.trunc %14 : i32 to i8
    %16 = llvm.sext %15 : i8 to i32
    llvm.store %16, %r9 : i32, !llvm.ptr
    llvm.br ^b2
  ^b2:
    %17 = llvm.load %r5 : !llvm.ptr -> i16
    %18 = llvm.zext %17 : i16 to i32
    %19 = llvm.trunc %18 : i32 to i8
    %20 = llvm.sext %19 : i8 to i32
    %21 = llvm.load %r9 : !llvm.ptr -> i32
    %22 = llvm.icmp "eq" %21, %20 : i32
    llvm.store %1, %r8 : i32, !llvm.ptr
    llvm.cond_br %22, ^b4, ^b3
  ^b3:
    %23 = llvm.load %r4 : !llvm.ptr -> i64
    %25 = llvm.add %23, %24 : i64
    %26 = llvm.load %r4 : !llvm.ptr -> i64
    %27 = llvm.inttoptr %26 : i64 to !llvm.ptr
    %28 = llvm.getelementptr %27[1] : (!llvm.ptr) -> !llvm.ptr, i8
    %29 = llvm.load %28 <alignment = 1> : !llvm.ptr -> i8
    %30 = llvm.zext %29 : i8 to i16
    llvm.store %30, %r5 : i16, !llvm.ptr
    %31 = llvm.load %r5 : !llvm.ptr -> i16
    %32 = llvm.icmp "ne" %31, %4 : i16
    llvm.store %25, %r4 : i64, !llvm.ptr
    %33 = llvm.load %r7 : !llvm.ptr -> i32
    llvm.store %33, %r8 : i32, !llvm.ptr
    llvm.cond_br %32, ^b2, ^b4
  ^b4:
    %34 = llvm.load %r8 : !llvm.ptr -> i32
    llvm.store %34, %r15 : i32, !llvm.ptr
    llvm.br ^exit
  ^b5:
    llvm.br ^exit
  ^exit:
    %35 = llvm.load %r15 : !llvm.ptr -> i32
    llvm.return %35 : i32
  }
