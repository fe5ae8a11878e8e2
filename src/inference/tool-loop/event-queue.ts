import type { ReplyEvent } from '../../formats/call/event.ts'

/** Events of calls that run at the same time, in the order they occur. */
export class EventQueue {
  readonly #events: ReplyEvent[] = []
  #wake: (() => void) | null = null
  #isEnded = false

  push(event: ReplyEvent): void {
    this.#events.push(event)
    this.#wake?.()
  }

  end(): void {
    this.#isEnded = true
    this.#wake?.()
  }

  async *read(): AsyncGenerator<ReplyEvent> {
    for (;;) {
      for (let event = this.#events.shift(); event; event = this.#events.shift()) yield event
      if (this.#isEnded) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
  }
}
