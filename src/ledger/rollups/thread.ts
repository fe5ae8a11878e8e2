import { Thread } from '../../lib/thread.ts'
import type { Ages } from './retention.ts'

export type Chore =
  | { kind: 'open'; url: string }
  | { kind: 'roll'; now: number }
  | { kind: 'tidy'; now: number; ages: Ages }

/** The keeping of roll-ups, on a thread and a connection of its own. */
export class RollUpThread {
  readonly #thread: Thread

  constructor(url: string) {
    const opening: Chore = { kind: 'open', url }
    this.#thread = new Thread(new URL('worker.ts', import.meta.url), opening)
  }

  async roll(now: number): Promise<void> {
    await this.#do({ kind: 'roll', now })
  }

  async tidy(now: number, ages: Ages): Promise<void> {
    await this.#do({ kind: 'tidy', now, ages })
  }

  #do(chore: Chore): Promise<unknown> {
    return this.#thread.ask(chore)
  }
}
