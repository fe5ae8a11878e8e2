/** What a process offers to the other: functions by name. */
export type Calls<T> = { [Name in keyof T]: (...args: never[]) => unknown }

type Arguments<Call> = Call extends (...args: infer Args) => unknown ? Args : never
type Result<Call> = Call extends (...args: never[]) => infer Value ? Awaited<Value> : never

interface Message {
  /** Of a call that is answered, or of its answer. */
  id?: number
  name?: string
  args?: unknown[]
  result?: unknown
  error?: string
}

interface PendingCall {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

/** The other process at the end of a channel. Calls are answered unless it ends or is late. */
export class Peer<Remote extends Calls<Remote>> {
  readonly #send: (message: Message) => void
  readonly #offered: ReadonlyMap<string, (...args: unknown[]) => unknown>
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0
  #isClosed = false

  /** `offered` is what the other process may call. Both are of the same program, so that arguments have their types. */
  constructor(send: (message: Message) => void, offered: object) {
    this.#send = send
    this.#offered = new Map(Object.entries(offered))
  }

  /** Rejects when the other process has ended, its function has thrown, or the time is over. */
  async call<Name extends keyof Remote & string>(
    name: Name,
    timeoutMs: number,
    ...args: Arguments<Remote[Name]>
  ): Promise<Result<Remote[Name]>> {
    if (this.#isClosed) throw new Error('the other process has ended')
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => reject(new Error('the other process did not answer in time')), timeoutMs)
    this.#pending.set(id, { resolve, reject })
    try {
      this.#send({ id, name, args })
      return (await promise) as Result<Remote[Name]>
    } finally {
      clearTimeout(timer)
      this.#pending.delete(id)
    }
  }

  /** A call without an answer, at most once. */
  notify<Name extends keyof Remote & string>(name: Name, ...args: Arguments<Remote[Name]>): void {
    if (!this.#isClosed) this.#send({ name, args })
  }

  /** Handles what has arrived. */
  receive(message: unknown): void {
    const { id, name, args, result, error } = message as Message
    if (name !== undefined) return void this.#answer(id, name, args ?? [])
    const pending = this.#pending.get(id ?? 0)
    if (error === undefined) pending?.resolve(result)
    else pending?.reject(new Error(error))
  }

  /** The other process has ended. */
  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#pending.values()) reject(new Error('the other process has ended'))
  }

  async #answer(id: number | undefined, name: string, args: unknown[]): Promise<void> {
    let answer: Message
    try {
      const run = this.#offered.get(name)
      if (!run) throw new Error(`there is no function ${name}`)
      answer = { result: await run(...args) }
    } catch (error) {
      answer = { error: error instanceof Error ? error.message : String(error) }
    }
    if (id !== undefined && !this.#isClosed) this.#send({ id, ...answer })
  }
}
