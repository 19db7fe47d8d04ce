/** Parsing and storing anything larger takes so long that others should not wait for it. */
export const largeBytes = 1024 * 1024;

/** The same bytes: what arrives from another thread is no Buffer. */
export const asBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);
