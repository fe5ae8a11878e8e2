/** Tool calls that wait for their results, by keys such as their id: a history may have thousands of them. */
export class OpenCalls<Call extends object> {
  readonly #queues = new Map<string, { calls: Call[]; next: number }>()
  readonly #closed = new Set<Call>()

  add(call: Call, keys: readonly string[]): void {
    for (const key of keys) {
      const queue = this.#queues.get(key)
      if (queue) queue.calls.push(call)
      else this.#queues.set(key, { calls: [call], next: 0 })
    }
  }

  /** The first call with this key that has no result. */
  first(key: string): Call | undefined {
    const queue = this.#queues.get(key)
    if (!queue) return undefined
    for (; ; queue.next++) {
      const call = queue.calls[queue.next]
      if (!call || !this.#closed.has(call)) return call
    }
  }

  close(call: Call): void {
    this.#closed.add(call)
  }
}
