/** Loaded when the first token is signed or verified: many installations never do. */
export function loadJose(): Promise<typeof import('jose')> {
  return import('jose')
}
