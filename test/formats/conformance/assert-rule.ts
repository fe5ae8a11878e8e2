/** A rule of a wire format. */
export function assertRule(condition: boolean, message: string): void {
  if (!condition) throw new Error(`grammar: ${message}`)
}
