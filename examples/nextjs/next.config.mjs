/** This folder is a project of its own, whatever lies above it. */
export default { turbopack: { root: import.meta.dirname } };
