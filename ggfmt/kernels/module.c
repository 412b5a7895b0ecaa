/* The extension module: what there is in it, and which revision of the sources it was built from. */
#include "buffer.h"
#include "revision.h"

extern PyTypeObject DelimitedScannerType;
extern PyTypeObject JsonScannerType;
extern PyTypeObject XmlScannerType;

static PyMethodDef functions[] = {
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ggfmt.kernels._native",
    .m_doc = "Native kernels of ggfmt.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void) {
    if (PyType_Ready(&BufferType) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    if (PyModule_AddIntConstant(module, "REVISION", GGFMT_REVISION) < 0 || PyModule_AddType(module, &JsonScannerType) < 0 ||
        PyModule_AddType(module, &DelimitedScannerType) < 0 || PyModule_AddType(module, &XmlScannerType) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
