/** This folder stands for itself, whatever lies above it. */
export default { turbopack: { root: import.meta.dirname } };
