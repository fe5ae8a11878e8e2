import { Thread } from '../../lib/thread.ts'
import type { Ages } from './retention.ts'

export type Chore =
  | { kind: 'open'; url: string }
  | { kind: 'roll'; isAll: boolean }
  | { kind: 'tidy'; now: number; ages: Ages }

/** The keeping of roll-ups, on a thread and a connection of its own. */
export class RollUpThread {
  readonly #thread: Thread

  constructor(url: string) {
    const opening: Chore = { kind: 'open', url }
    this.#thread = new Thread(new URL('worker.ts', import.meta.url), opening)
  }

  /** Only if there are enough for segments that are worth their while, or all there are. */
  async roll({ isAll } = { isAll: false }): Promise<void> {
    await this.#do({ kind: 'roll', isAll })
  }

  async tidy(now: number, ages: Ages): Promise<void> {
    await this.#do({ kind: 'tidy', now, ages })
  }

  #do(chore: Chore): Promise<unknown> {
    return this.#thread.ask(chore)
  }
}
