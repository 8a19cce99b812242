// Functions that IREE 3.13 computes wrongly, or that it has no code for on GPUs, written in operations
// that it computes rightly. What was wrong with each was found by running.
//
// functions.py writes them in the place of operations. It says first what these stand for:
// - !float: f32 or f64; floats of 16 bits are computed as f32.
// - !integer: the type of an integer exponent.
// - !whole: an integer of as many bits as !float.
// - #all_even: from here on, every !float is an even integer, or infinite.
// - #infinity, #nan: of !float.

// ---- Angles. IREE subtracts multiples of pi/2 in f32, on CPUs and GPUs: 3e-3 off at 60,000.

func.func @math.sin(%x: f32) -> f32 {
  %sine, %cosine = func.call @sine_and_cosine(%x) : (f32) -> (f64, f64)
  %result = arith.truncf %sine : f64 to f32
  return %result : f32
}

func.func @math.cos(%x: f32) -> f32 {
  %sine, %cosine = func.call @sine_and_cosine(%x) : (f32) -> (f64, f64)
  %result = arith.truncf %cosine : f64 to f32
  return %result : f32
}

func.func @math.tan(%x: f32) -> f32 {
  %sine, %cosine = func.call @sine_and_cosine(%x) : (f32) -> (f64, f64)
  %quotient = arith.divf %sine, %cosine : f64
  %result = arith.truncf %quotient : f64 to f32
  return %result : f32
}

func.func private @sine_and_cosine(%x: f32) -> (f64, f64) {
  // From 2^29 on, angles are NaN: in f32 they are further apart than a turn.
  %limit = arith.constant 536870912.0 : f64
  %nan = arith.constant 0x7FF8000000000000 : f64
  %wide = arith.extf %x : f32 to f64
  %size = math.absf %wide : f64
  %is_near = arith.cmpf olt, %size, %limit : f64
  %angle = arith.select %is_near, %wide, %nan : f64

  // Quarters of a turn, rounded: 1.5 * 2^52, added and taken away again, leaves the nearest integer.
  %to_integer = arith.constant 6755399441055744.0 : f64
  %two_by_pi = arith.constant 0.6366197723675814 : f64
  %in_quarters = arith.mulf %angle, %two_by_pi : f64
  %shifted = arith.addf %in_quarters, %to_integer : f64
  %quarters = arith.subf %shifted, %to_integer : f64

  // The sum of these is pi/2. The first two have 24 bits, so that products with integers of 29 bits
  // are exact.
  %part_0 = arith.constant 1.5707962512969971 : f64
  %part_1 = arith.constant 7.549789415861596e-08 : f64
  %part_2 = arith.constant 5.390302858158119e-15 : f64
  %less_0 = arith.mulf %quarters, %part_0 : f64
  %less_1 = arith.mulf %quarters, %part_1 : f64
  %less_2 = arith.mulf %quarters, %part_2 : f64
  %rest_0 = arith.subf %angle, %less_0 : f64
  %rest_1 = arith.subf %rest_0, %less_1 : f64
  %rest = arith.subf %rest_1, %less_2 : f64
  %square = arith.mulf %rest, %rest : f64

  // Taylor's series: what they leave out is under 1e-11 up to pi/4. For the sine:
  %s1 = arith.constant 1.0 : f64
  %s3 = arith.constant -0.16666666666666666 : f64
  %s5 = arith.constant 0.008333333333333333 : f64
  %s7 = arith.constant -0.0001984126984126984 : f64
  %s9 = arith.constant 2.7557319223985893e-06 : f64
  %s11 = arith.constant -2.505210838544172e-08 : f64
  %s13 = arith.constant 1.6059043836821613e-10 : f64
  %s_11 = func.call @horner(%s13, %square, %s11) : (f64, f64, f64) -> f64
  %s_9 = func.call @horner(%s_11, %square, %s9) : (f64, f64, f64) -> f64
  %s_7 = func.call @horner(%s_9, %square, %s7) : (f64, f64, f64) -> f64
  %s_5 = func.call @horner(%s_7, %square, %s5) : (f64, f64, f64) -> f64
  %s_3 = func.call @horner(%s_5, %square, %s3) : (f64, f64, f64) -> f64
  %s_1 = func.call @horner(%s_3, %square, %s1) : (f64, f64, f64) -> f64
  %along = arith.mulf %rest, %s_1 : f64

  // And for the cosine:
  %c0 = arith.constant 1.0 : f64
  %c2 = arith.constant -0.5 : f64
  %c4 = arith.constant 0.041666666666666664 : f64
  %c6 = arith.constant -0.001388888888888889 : f64
  %c8 = arith.constant 2.48015873015873e-05 : f64
  %c10 = arith.constant -2.755731922398589e-07 : f64
  %c12 = arith.constant 2.08767569878681e-09 : f64
  %c_10 = func.call @horner(%c12, %square, %c10) : (f64, f64, f64) -> f64
  %c_8 = func.call @horner(%c_10, %square, %c8) : (f64, f64, f64) -> f64
  %c_6 = func.call @horner(%c_8, %square, %c6) : (f64, f64, f64) -> f64
  %c_4 = func.call @horner(%c_6, %square, %c4) : (f64, f64, f64) -> f64
  %c_2 = func.call @horner(%c_4, %square, %c2) : (f64, f64, f64) -> f64
  %across = func.call @horner(%c_2, %square, %c0) : (f64, f64, f64) -> f64

  // The lowest bits of what was shifted are how many quarters there are.
  %one = arith.constant 1 : i64
  %count = arith.bitcast %shifted : f64 to i64
  %next = arith.addi %count, %one : i64
  %sine = func.call @turned(%count, %along, %across) : (i64, f64, f64) -> f64
  %cosine = func.call @turned(%next, %along, %across) : (i64, f64, f64) -> f64
  return %sine, %cosine : f64, f64
}

func.func private @horner(%total: f64, %x: f64, %factor: f64) -> f64 {
  %product = arith.mulf %total, %x : f64
  %sum = arith.addf %product, %factor : f64
  return %sum : f64
}

func.func private @turned(%quarters: i64, %along: f64, %across: f64) -> f64 {
  %one = arith.constant 1 : i64
  %halves = arith.shrui %quarters, %one : i64
  %is_opposite = arith.trunci %halves : i64 to i1
  %is_across = arith.trunci %quarters : i64 to i1
  %number = arith.select %is_across, %across, %along : f64
  %opposite = arith.negf %number : f64
  %result = arith.select %is_opposite, %opposite, %number : f64
  return %result : f64
}

// atan2(y, x), also of zeros and infinities.
func.func @math.atan2(%y: !float, %x: !float) -> !float {
  %zero = arith.constant 0.0 : !float
  %one = arith.constant 1.0 : !float
  %half_pi = arith.constant 1.5707963267948966 : !float
  %pi = arith.constant 3.141592653589793 : !float
  %height = math.absf %y : !float
  %width = math.absf %x : !float
  %is_steep = arith.cmpf olt, %width, %height : !float
  %small = arith.select %is_steep, %width, %height : !float
  %large = arith.select %is_steep, %height, %width : !float
  %is_diagonal = arith.cmpf oeq, %small, %large : !float
  %quotient = arith.divf %small, %large : !float
  %slope = arith.select %is_diagonal, %one, %quotient : !float
  %sum = arith.addf %small, %large : !float
  %is_origin = arith.cmpf oeq, %sum, %zero : !float
  %known = arith.select %is_origin, %zero, %slope : !float
  %flat = math.atan %known : !float
  %steep = arith.subf %half_pi, %flat : !float
  %right = arith.select %is_steep, %steep, %flat : !float
  %side = math.copysign %one, %x : !float
  %is_left = arith.cmpf olt, %side, %zero : !float
  %left = arith.subf %pi, %right : !float
  %angle = arith.select %is_left, %left, %right : !float
  %result = math.copysign %angle, %y : !float
  return %result : !float
}

// ---- Hyperbolic functions, which overflow or cancel where their results do neither.

// asinh(x): log(1 + |x| + x^2 / (1 + sqrt(x^2 + 1))).
func.func @math.asinh(%x: !float) -> !float {
  %one = arith.constant 1.0 : !float
  %size = math.absf %x : !float
  %square = arith.mulf %size, %size : !float
  %square_and_one = arith.addf %square, %one : !float
  %root = math.sqrt %square_and_one : !float
  %root_and_one = arith.addf %root, %one : !float
  %quotient = arith.divf %square, %root_and_one : !float
  %more = arith.addf %size, %quotient : !float
  %result = func.call @log_of_one_and(%more, %size) : (!float, !float) -> !float
  %signed = math.copysign %result, %x : !float
  return %signed : !float
}

// acosh(x): log(1 + t + sqrt(t (t + 2))), where t is x - 1; NaN below 1.
func.func @math.acosh(%x: !float) -> !float {
  %one = arith.constant 1.0 : !float
  %two = arith.constant 2.0 : !float
  %nan = arith.constant #nan
  %above = arith.subf %x, %one : !float
  %above_and_two = arith.addf %above, %two : !float
  %square = arith.mulf %above, %above_and_two : !float
  %root = math.sqrt %square : !float
  %more = arith.addf %above, %root : !float
  %number = func.call @log_of_one_and(%more, %x) : (!float, !float) -> !float
  %is_less = arith.cmpf olt, %x, %one : !float
  %result = arith.select %is_less, %nan, %number : !float
  return %result : !float
}

// log(1 + more), and log(2 size) from 2^30 on: there it is the same, though `more` overflows.
func.func private @log_of_one_and(%more: !float, %size: !float) -> !float {
  %log_of_two = arith.constant 0.6931471805599453 : !float
  %limit = arith.constant 1073741824.0 : !float
  %log = math.log %size : !float
  %double = arith.addf %log, %log_of_two : !float
  %is_large = arith.cmpf olt, %limit, %size : !float
  %number = math.log1p %more : !float
  %result = arith.select %is_large, %double, %number : !float
  return %result : !float
}

// ---- Powers. IREE expands those with a few constant exponents into products, quotients and roots. All
// others become exp(y * log(x)) there: NaN for every negative base, for x^0 where x is 0 or infinite,
// and for 1 to an infinite power.

// x^y: |x|^y with the sign of x where y is odd; NaN of x < 0 where y is no integer. An infinite x < 0
// has a power all the same, and an infinite y counts as an even integer.
func.func @math.powf(%x: !float, %y: !float) -> !float {
  %zero = arith.constant 0.0 : !float
  %all_even = arith.constant #all_even
  %infinity = arith.constant #infinity
  %nan = arith.constant #nan
  // Converted to an integer and back, since IREE links no `floor` for x86-64 without SSE4.1.
  %size = math.absf %y : !float
  %is_small = arith.cmpf olt, %size, %all_even : !float
  %small = arith.select %is_small, %y, %zero : !float
  %whole = arith.fptosi %small : !float to !whole
  %back = arith.sitofp %whole : !whole to !float
  %is_fraction = arith.cmpf une, %back, %small : !float
  %is_odd = arith.trunci %whole : !whole to i1
  %power = func.call @signed_power(%x, %y, %is_odd) : (!float, !float, i1) -> !float
  %is_nan = arith.cmpf une, %y, %y : !float
  %is_no_integer = arith.ori %is_fraction, %is_nan : i1
  %magnitude = math.absf %x : !float
  %is_finite = arith.cmpf une, %magnitude, %infinity : !float
  %is_below_zero = arith.cmpf olt, %x, %zero : !float
  %is_negative = arith.andi %is_below_zero, %is_finite : i1
  %has_none = arith.andi %is_no_integer, %is_negative : i1
  %result = arith.select %has_none, %nan, %power : !float
  return %result : !float
}

// x^n of an integer n.
func.func @math.fpowi(%x: !float, %n: !integer) -> !float {
  %y = arith.sitofp %n : !integer to !float
  %is_odd = arith.trunci %n : !integer to i1
  %result = func.call @signed_power(%x, %y, %is_odd) : (!float, !float, i1) -> !float
  return %result : !float
}

// 1 / x^n of a constant n > 0: what IREE expands x^-n into has the wrong sign where x is 0.
func.func @reciprocal_power(%x: !float, %n: !integer) -> !float {
  %one = arith.constant 1.0 : !float
  %power = math.fpowi %x, %n : !float, !integer
  %result = arith.divf %one, %power : !float
  return %result : !float
}

// |x|^y, with the sign of x where y is odd. It is 1 where |x| is 1 or y 0, even with NaN.
func.func private @signed_power(%x: !float, %y: !float, %is_odd: i1) -> !float {
  %zero = arith.constant 0.0 : !float
  %one = arith.constant 1.0 : !float
  %magnitude = math.absf %x : !float
  %is_one = arith.cmpf oeq, %magnitude, %one : !float
  %is_zero = arith.cmpf oeq, %y, %zero : !float
  %is_known = arith.ori %is_one, %is_zero : i1
  %computed = math.powf %magnitude, %y : !float
  %power = arith.select %is_known, %one, %computed : !float
  %signed = math.copysign %power, %x : !float
  %result = arith.select %is_odd, %signed, %power : !float
  return %result : !float
}

// ---- Quotients

// The floor of x / y, not of x / y rounded; NaN of an infinite x, but for y = 0.
func.func @floor_of_quotient(%x: !float, %y: !float) -> !float {
  %zero = arith.constant 0.0 : !float
  %one = arith.constant 1.0 : !float
  %infinity = arith.constant #infinity
  %nan = arith.constant #nan
  %quotient = arith.divf %x, %y : !float
  %whole = math.floor %quotient : !float
  %opposite = arith.negf %whole : !float
  %difference = math.fma %opposite, %y, %x : !float
  %is_zero = arith.cmpf oeq, %whole, %zero : !float
  %rest = arith.select %is_zero, %x, %difference : !float  // y may be infinite
  %rest_is_negative = arith.cmpf olt, %rest, %zero : !float
  %rest_is_positive = arith.cmpf olt, %zero, %rest : !float
  %y_is_negative = arith.cmpf olt, %y, %zero : !float
  %y_is_positive = arith.cmpf olt, %zero, %y : !float
  %is_below = arith.andi %rest_is_negative, %y_is_positive : i1
  %is_above = arith.andi %rest_is_positive, %y_is_negative : i1
  %is_beyond = arith.ori %is_below, %is_above : i1
  %one_less = arith.subf %whole, %one : !float
  %floor = arith.select %is_beyond, %one_less, %whole : !float
  %size = math.absf %x : !float
  %is_infinite = arith.cmpf oeq, %size, %infinity : !float
  %is_divided = arith.cmpf une, %y, %zero : !float
  %has_none = arith.andi %is_infinite, %is_divided : i1
  %result = arith.select %has_none, %nan, %floor : !float
  return %result : !float
}

// ---- Floats of 8 bits (OCP 8-bit Floating Point Specification, 1.0, table 1). IREE has no conversions
// for GPUs. On CPUs it makes zero of what rounds up to the least normal number, NaN of what is more
// than 448 where e4m3 is to saturate, and -480 of a NaN.

// The code of an f32: rounded to nearest, ties to even.
// - %fraction, %bias: the bits of a fraction, and what is added to an exponent.
// - %most: the code of the largest number that there may be, or of what stands for all above.
func.func @encoded(%x: f32, %fraction: i32, %bias: i32, %most: i32) -> i8 {
  %one = arith.constant 1 : i32
  %f32_fraction = arith.constant 23 : i32
  %f32_bias = arith.constant 127 : i32
  %f32_size = arith.constant 0x7FFFFFFF : i32
  %f32_infinity = arith.constant 0x7F800000 : i32
  %drop = arith.subi %f32_fraction, %fraction : i32
  %bits = arith.bitcast %x : f32 to i32
  %size = arith.andi %bits, %f32_size : i32

  // The bits that are left out of a normal number round up those above, and its exponent.
  %above = arith.shrui %size, %drop : i32
  %odd = arith.andi %above, %one : i32
  %drop_but_one = arith.subi %drop, %one : i32
  %half = arith.shli %one, %drop_but_one : i32
  %below_half = arith.subi %half, %one : i32
  %more = arith.addi %size, %below_half : i32
  %rounded_up = arith.addi %more, %odd : i32
  %rounded = arith.shrui %rounded_up, %drop : i32
  %other_bias = arith.subi %f32_bias, %bias : i32
  %less = arith.shli %other_bias, %fraction : i32
  %normal = arith.subi %rounded, %less : i32

  // Others are counted in steps of the least one. Those are the steps of f32 from here on:
  // 1.5 * 2^(24 - fraction - bias).
  %exponent_of_step = arith.constant 151 : i32  // 24 + 127
  %highest_fraction_bit = arith.constant 0x400000 : i32
  %without_fraction = arith.subi %exponent_of_step, %fraction : i32
  %exponent = arith.subi %without_fraction, %bias : i32
  %shifted = arith.shli %exponent, %f32_fraction : i32
  %start_bits = arith.ori %shifted, %highest_fraction_bit : i32
  %start = arith.bitcast %start_bits : i32 to f32
  %number = arith.bitcast %size : i32 to f32
  %sum = arith.addf %number, %start : f32
  %sum_bits = arith.bitcast %sum : f32 to i32
  %steps = arith.subi %sum_bits, %start_bits : i32

  %first_exponent = arith.addi %other_bias, %one : i32
  %least_normal = arith.shli %first_exponent, %f32_fraction : i32
  %is_small = arith.cmpi slt, %size, %least_normal : i32
  %finite = arith.select %is_small, %steps, %normal : i32
  %limited = arith.minsi %finite, %most : i32
  %nan = arith.constant 0x7F : i32
  %is_nan = arith.cmpi slt, %f32_infinity, %size : i32
  %unsigned = arith.select %is_nan, %nan, %limited : i32
  %sign_bit = arith.constant 0x80 : i32
  %to_sign = arith.constant 24 : i32
  %highest = arith.shrui %bits, %to_sign : i32
  %sign = arith.andi %highest, %sign_bit : i32
  %code = arith.ori %unsigned, %sign : i32
  %result = arith.trunci %code : i32 to i8
  return %result : i8
}

// The f32 of a code.
// - %fraction, %bias: as above.
// - %largest: the code of the largest number, or of infinity: those above are NaN.
// - %has_infinity: which of both it is.
func.func @decoded(%x: i8, %fraction: i32, %bias: i32, %largest: i32, %has_infinity: i1) -> f32 {
  %one = arith.constant 1 : i32
  %f32_fraction = arith.constant 23 : i32
  %f32_bias = arith.constant 127 : i32
  %f32_infinity = arith.constant 0x7F800000 : f32
  %f32_nan = arith.constant 0x7FC00000 : f32
  %code = arith.extui %x : i8 to i32
  %without_sign = arith.constant 0x7F : i32
  %size = arith.andi %code, %without_sign : i32

  %to_fraction = arith.subi %f32_fraction, %fraction : i32
  %moved = arith.shli %size, %to_fraction : i32
  %other_bias = arith.subi %f32_bias, %bias : i32
  %more = arith.shli %other_bias, %f32_fraction : i32
  %normal_bits = arith.addi %moved, %more : i32
  %normal = arith.bitcast %normal_bits : i32 to f32

  // Those below the normal ones are counted in steps of 2^(1 - bias - fraction).
  %first_exponent = arith.addi %other_bias, %one : i32
  %exponent_of_step = arith.subi %first_exponent, %fraction : i32
  %step_bits = arith.shli %exponent_of_step, %f32_fraction : i32
  %step = arith.bitcast %step_bits : i32 to f32
  %count = arith.sitofp %size : i32 to f32
  %small = arith.mulf %count, %step : f32
  %least_normal = arith.shli %one, %fraction : i32
  %is_small = arith.cmpi slt, %size, %least_normal : i32
  %finite = arith.select %is_small, %small, %normal : f32

  %is_largest = arith.cmpi eq, %size, %largest : i32
  %is_infinite = arith.andi %is_largest, %has_infinity : i1
  %number = arith.select %is_infinite, %f32_infinity, %finite : f32
  %is_nan = arith.cmpi slt, %largest, %size : i32
  %unsigned = arith.select %is_nan, %f32_nan, %number : f32
  %unsigned_bits = arith.bitcast %unsigned : f32 to i32
  %sign_bit = arith.constant 0x80 : i32
  %to_sign = arith.constant 24 : i32
  %sign_of_code = arith.andi %code, %sign_bit : i32
  %sign = arith.shli %sign_of_code, %to_sign : i32
  %bits = arith.ori %unsigned_bits, %sign : i32
  %result = arith.bitcast %bits : i32 to f32
  return %result : f32
}
