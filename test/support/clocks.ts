import { CoarseTimer } from '../../src/platform/time/coarse-timer.ts'

/** A clock that moves only when it is advanced, so that windows and expiry can be tested. */
export class TestClock {
  #offset = 0
  #frozen: number | null = null
  now(): number {
    return this.#frozen ?? Date.now() + this.#offset
  }
  advance(ms: number): void {
    if (this.#frozen === null) this.#offset += ms
    else this.#frozen += ms
  }
  freeze(at: string): void {
    this.#frozen = Date.parse(at)
  }
  release(): void {
    this.#frozen = null
    this.#offset = 0
  }
}

/** The timer of the gateway, whose time a test can let pass. */
export class TestTimer extends CoarseTimer {
  #offset = 0

  constructor() {
    super(20)
  }

  override now(): number {
    return super.now() + this.#offset
  }

  advance(ms: number): void {
    this.#offset += ms
    this.tick()
  }

  /**
   * Lets time pass until the work is done, a step in each turn of the event loop: what the gateway and its peers do
   * meanwhile takes as many steps on a busy machine as on a quiet one.
   */
  async passUntil<T>(work: Promise<T>, stepMs = 100): Promise<T> {
    let isDone = false
    const watched = work.finally(() => {
      isDone = true
    })
    for (; !isDone; await Bun.sleep(1)) this.advance(stepMs)
    return watched
  }
}
