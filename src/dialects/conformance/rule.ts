/** A rule of a wire format. */
export function rule(holds: boolean, broken: string): void {
  if (!holds) throw new Error(`grammar: ${broken}`)
}
