/* To be counted up, here and in __init__.py, whenever Python and C must change together: a checkout may have an extension
   that was built from older sources. */
#define GGFMT_REVISION 42
