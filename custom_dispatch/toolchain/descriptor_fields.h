// C++ behind descriptor_types.h: what the compiler is asked about the fields of structs (descriptor.py).
// NVRTC knows another word for where a field lies.
#ifdef __CUDACC_RTC__
#define custom_dispatch_descriptor_offset_(Type_, name_) __INTADDR__(&((Type_*)0)->name_)
#else
#define custom_dispatch_descriptor_offset_(Type_, name_) __builtin_offsetof(Type_, name_)
#endif
namespace custom_dispatch_descriptor {
template <unsigned, class> struct at_ { typedef void type_; };
template <class Result_, class Type_, class... Types_>
struct at_<0, Result_ (*)(Type_, Types_...)> { typedef Type_ type_; };
template <unsigned index_, class Result_, class Type_, class... Types_>
struct at_<index_, Result_ (*)(Type_, Types_...)> : at_<index_ - 1, Result_ (*)(Types_...)> {};
template <class Type_> struct element_ : plain_<Type_> {};
template <class Type_, decltype(sizeof(0)) count_>
struct element_<Type_[count_]> : element_<Type_> {};
template <class...> struct void_ { typedef void type_; };
template <class Type_, unsigned offset_, unsigned bytes_> struct found_ {
  typedef typename element_<Type_>::type_ type_;
  __device__ static constexpr parameter_ get_() {
    return {{1, offset_, code_of_<type_>::value_, bytes_,
             __is_class(type_) || __is_union(type_)}};
  }
};
struct none_ { __device__ static constexpr parameter_ get_() { return {{}}; } };
}
// A field of any struct, by its name.
#define custom_dispatch_descriptor_field_(index_, name_) \
  namespace custom_dispatch_descriptor { \
  template <class Type_, class = void> struct field_##index_##_ : none_ {}; \
  template <class Type_> \
  struct field_##index_##_< \
      Type_, typename void_<number_<custom_dispatch_descriptor_offset_(Type_, name_)>>::type_> \
      : found_<decltype(Type_::name_), custom_dispatch_descriptor_offset_(Type_, name_), \
               sizeof(Type_::name_)> {}; \
  }
