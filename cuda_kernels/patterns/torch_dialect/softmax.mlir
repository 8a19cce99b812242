// ["f32", "f16", "bf16"]
// {"kernel": "softmax_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?],bf16>) -> !torch.vtensor<[?,?],bf16> {
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %0 = torch.aten.softmax.int %arg0, %int-1, %none : !torch.vtensor<[?,?],bf16>, !torch.int, !torch.none -> !torch.vtensor<[?,?],bf16>
    return %0 : !torch.vtensor<[?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "softmax_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?],bf16>) -> !torch.vtensor<[?,?,?],bf16> {
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %0 = torch.aten.softmax.int %arg0, %int-1, %none : !torch.vtensor<[?,?,?],bf16>, !torch.int, !torch.none -> !torch.vtensor<[?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?],bf16>
  }
}
// -----
// ["f32", "f16", "bf16"]
// {"kernel": "softmax_bf16", "fixed": {}, "axes": {}}
module {
  func.func @pattern(%arg0: !torch.vtensor<[?,?,?,?],bf16>) -> !torch.vtensor<[?,?,?,?],bf16> {
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %0 = torch.aten.softmax.int %arg0, %int-1, %none : !torch.vtensor<[?,?,?,?],bf16>, !torch.int, !torch.none -> !torch.vtensor<[?,?,?,?],bf16>
    return %0 : !torch.vtensor<[?,?,?,?],bf16>
  }
}
