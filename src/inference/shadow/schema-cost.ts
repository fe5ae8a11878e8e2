import { asObject, type JsonObject } from '../../platform/json/json-values.ts'

/** Parts of a schema times values: checked within milliseconds. */
const maxWork = 250_000

/** Whether a value can be checked in a short time: what is referred to counts each time, and alternatives all count. */
export function isCheapToCheck(schema: JsonObject, value: unknown): boolean {
  const cost = new SchemaCost(schema)
  const parts = cost.count(schema)
  if (cost.isRecursive && hasRecursiveAlternatives(schema)) return false
  return countValues(value, maxWork / parts) * parts <= maxWork
}

class SchemaCost {
  readonly #root: JsonObject
  readonly #known = new Map<string, number>()
  readonly #open = new Set<string>()
  isRecursive = false

  constructor(root: JsonObject) {
    this.#root = root
  }

  count(node: unknown): number {
    if (typeof node !== 'object' || node === null) return 0
    const reference = asObject(node)?.$ref
    const own = typeof reference === 'string' ? 1 + this.#countReference(reference) : 1
    return Object.values(node).reduce<number>((sum, inner) => sum + this.count(inner), own)
  }

  #countReference(reference: string): number {
    const known = this.#known.get(reference)
    if (known !== undefined) return known
    if (this.#open.has(reference)) {
      this.isRecursive = true
      return 0
    }
    this.#open.add(reference)
    const count = this.count(this.#resolve(reference))
    this.#open.delete(reference)
    this.#known.set(reference, count)
    return count
  }

  #resolve(reference: string): unknown {
    const [, ...names] = reference.split('/')
    return names.reduce<unknown>((node, name) => asObject(node)?.[name], this.#root)
  }
}

/** With more than one such part of the same value, each level of a value doubles the work. */
function hasRecursiveAlternatives(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false
  const { $ref, anyOf, oneOf, allOf, not } = asObject(node) ?? {}
  const parts = [{ $ref }, not, ...[anyOf, oneOf, allOf].flat()]
  return parts.filter(hasReference).length > 1 || Object.values(node).some(hasRecursiveAlternatives)
}

function hasReference(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false
  return typeof asObject(node)?.$ref === 'string' || Object.values(node).some(hasReference)
}

/** Stops at more than this. */
function countValues(root: unknown, max: number): number {
  let count = 0
  const waiting = [root]
  while (waiting.length > 0 && count <= max) {
    const value = waiting.pop()
    count++
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) waiting.push(inner)
  }
  return count
}
