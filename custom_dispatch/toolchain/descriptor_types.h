// C++ to stand behind a source: what the compiler is asked about the types of its kernels (descriptor.py).
// Names end in `_`, so that no macro of a source is likely to hit them.
// Classes of CUDA's headers, which a source need not include.
struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;
struct __nv_fp8_e4m3;
struct __nv_fp8x2_e4m3;
struct __nv_fp8x4_e4m3;
struct __nv_fp8_e5m2;
struct __nv_fp8x2_e5m2;
struct __nv_fp8x4_e5m2;
struct float1;
struct float2;
struct float3;
struct float4;
struct double1;
struct double2;
struct double3;
namespace custom_dispatch_descriptor {
// What a C++ type holds: the place of an element type in `_CODES` (descriptor.py). `long` has 64 bits on every host that
// CUDA 13 knows, unlike Windows' 32: Linux alone is supported.
template <unsigned Code_> struct holds_ { enum { value_ = Code_ }; };
template <class Type_> struct code_ : holds_<0> {};
template <> struct code_<float> : holds_<1> {};
template <> struct code_<float1> : holds_<1> {};
template <> struct code_<float2> : holds_<1> {};
template <> struct code_<float3> : holds_<1> {};
template <> struct code_<float4> : holds_<1> {};
template <> struct code_<double> : holds_<2> {};
template <> struct code_<double1> : holds_<2> {};
template <> struct code_<double2> : holds_<2> {};
template <> struct code_<double3> : holds_<2> {};
template <> struct code_<bool> : holds_<3> {};
template <> struct code_<char> : holds_<4> {};
template <> struct code_<signed char> : holds_<4> {};
template <> struct code_<unsigned char> : holds_<5> {};
template <> struct code_<short> : holds_<6> {};
template <> struct code_<unsigned short> : holds_<7> {};
template <> struct code_<int> : holds_<8> {};
template <> struct code_<unsigned int> : holds_<9> {};
template <> struct code_<long> : holds_<10> {};
template <> struct code_<long long> : holds_<10> {};
template <> struct code_<unsigned long> : holds_<11> {};
template <> struct code_<unsigned long long> : holds_<11> {};
template <> struct code_<__half> : holds_<12> {};
template <> struct code_<__half2> : holds_<12> {};
template <> struct code_<__nv_bfloat16> : holds_<13> {};
template <> struct code_<__nv_bfloat162> : holds_<13> {};
template <> struct code_<__nv_fp8_e4m3> : holds_<14> {};
template <> struct code_<__nv_fp8x2_e4m3> : holds_<14> {};
template <> struct code_<__nv_fp8x4_e4m3> : holds_<14> {};
template <> struct code_<__nv_fp8_e5m2> : holds_<15> {};
template <> struct code_<__nv_fp8x2_e5m2> : holds_<15> {};
template <> struct code_<__nv_fp8x4_e5m2> : holds_<15> {};
template <class Type_, bool = __is_enum(Type_)> struct code_of_ : code_<Type_> {};
template <class Type_> struct code_of_<Type_, true> : code_<__underlying_type(Type_)> {};
template <class Type_> struct plain_ { typedef Type_ type_; enum { const_ = 0 }; };
template <class Type_> struct plain_<const Type_> { typedef Type_ type_; enum { const_ = 1 }; };
template <class Type_> struct plain_<volatile Type_> : plain_<Type_> {};
template <class Type_> struct plain_<const volatile Type_> : plain_<const Type_> {};
template <unsigned Count_> struct number_ { enum { value_ = Count_ }; };
template <class Type_> __device__ number_<sizeof(Type_)> bytes_(Type_*);
__device__ number_<0> bytes_(...);
struct parameter_ { unsigned words_[5]; };
template <class Type_, unsigned form_> struct describe_ {
  typedef typename plain_<Type_>::type_ type_;
  typedef decltype(custom_dispatch_descriptor::bytes_((type_*)0)) size_;
  __device__ static constexpr parameter_ get_() {
    return {{form_, plain_<Type_>::const_, code_of_<type_>::value_, size_::value_,
             __is_class(type_) || __is_union(type_)}};
  }
};
template <class Type_> struct of_ : describe_<Type_, 0> {};
template <class Type_> struct of_<Type_*> : describe_<Type_, 1> {};
template <class Type_> struct of_<Type_&> : describe_<Type_, 2> {};
template <class Type_> struct of_<Type_&&> : describe_<Type_, 2> {};
template <unsigned Count_> struct record_ { unsigned count_; parameter_ parameters_[Count_]; };
template <class Type_> struct signature_;
template <class Result_, class... Types_>
struct signature_<Result_ (*)(Types_...)> : record_<sizeof...(Types_) + 1> {
  __device__ constexpr signature_()
      : record_<sizeof...(Types_) + 1>{sizeof...(Types_), {of_<Types_>::get_()..., {}}} {}
};
#if __cplusplus >= 201402L
template <unsigned Count_> struct text_ { char letters_[Count_]; };
template <class Type_> __device__ constexpr auto spelled_() {
  text_<sizeof(__PRETTY_FUNCTION__)> result_{};
  for (unsigned index_ = 0; index_ < sizeof(__PRETTY_FUNCTION__); ++index_)
    result_.letters_[index_] = __PRETTY_FUNCTION__[index_];
  return result_;
}
#endif
}
// The constants that are asked for: an entry's type, and how C++ spells it.
#define custom_dispatch_descriptor_type_(index_, ...) \
  extern "C" __device__ const custom_dispatch_descriptor::signature_<decltype(__VA_ARGS__)> \
      custom_dispatch_descriptor_signature_##index_{};
#if __cplusplus >= 201402L
#define custom_dispatch_descriptor_spelling_(index_, ...) \
  extern "C" __device__ constexpr auto custom_dispatch_descriptor_text_##index_ = \
      custom_dispatch_descriptor::spelled_<decltype(__VA_ARGS__)>();
#else
#define custom_dispatch_descriptor_spelling_(index_, ...)
#endif
