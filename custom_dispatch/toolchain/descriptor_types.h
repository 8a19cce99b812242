// C++ to stand behind a source: what the compiler is asked about the types of its kernels (descriptor.py).
// Names end in `_`, so that no macro of a source is likely to hit them.
namespace custom_dispatch_descriptor {
template <class Type_> struct code_ { enum { value_ = 0 }; };
// The codes of types are here.
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
