import type { Message } from './call/call.ts'
import type { ToolResultPart } from './call/part.ts'

/** Adds tool results to a conversation: those that follow each other form one message. */
export class ToolResults {
  readonly #messages: Message[]
  #last: Message | null = null

  constructor(messages: Message[]) {
    this.#messages = messages
  }

  add(result: ToolResultPart): void {
    const last = this.#messages.at(-1)
    if (last?.role === 'user' && (last === this.#last || last.parts.length === 0)) this.#last = last
    else {
      this.#last = { role: 'user', parts: [] }
      this.#messages.push(this.#last)
    }
    this.#last.parts.push(result)
  }
}
