import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type Priority, priorities } from '../formats/vocabulary.ts'

interface RateQueues {
  queues: ReadonlyMap<string, { count(priority: Priority): number }>
}

interface RateRefusal {
  provider: string
  priority: Priority
  cause: string
}

/** Requests that wait for the rate of a provider. */
export class RateMetrics {
  readonly #registry: Registry
  readonly #waits: Histogram
  readonly #moves: Counter
  readonly #refusals: Counter

  constructor(registry: Registry) {
    this.#registry = registry
    const registers = [registry]
    this.#waits = new Histogram({
      name: 'headgate_rate_wait_seconds',
      help: 'Time for which requests waited for the rate of a provider before they were sent, by priority.',
      labelNames: ['priority'],
      buckets: [0.25, 0.5, 1, 2, 4, 8, 16, 30, 60],
      registers,
    })
    this.#moves = new Counter({
      name: 'headgate_rate_moves_total',
      help: 'Requests that were sent to another endpoint because the rate of a provider (the label) was nearly used.',
      labelNames: ['provider', 'priority'],
      registers,
    })
    this.#refusals = new Counter({
      name: 'headgate_rate_refusals_total',
      help: 'Requests that were rejected because the rate of a provider was nearly used: they waited too long (timeout), the queue was full (queue_full), or their key had its share of it (key_share), or one of a higher priority took their place (displaced).',
      labelNames: ['provider', 'priority', 'cause'],
      registers,
    })
  }

  /** Counted when metrics are read. */
  register({ queues }: RateQueues): void {
    new Gauge({
      name: 'headgate_rate_queue_length',
      help: 'Requests that wait for the rate of a provider, by priority.',
      labelNames: ['priority'],
      registers: [this.#registry],
      collect() {
        for (const priority of priorities) {
          let length = 0
          for (const queue of queues.values()) length += queue.count(priority)
          this.set({ priority }, length)
        }
      },
    })
  }

  recordWait(priority: Priority, seconds: number): void {
    this.#waits.observe({ priority }, seconds)
  }

  recordMove(provider: string, priority: Priority): void {
    this.#moves.inc({ provider, priority })
  }

  recordRefusal({ provider, priority, cause }: RateRefusal): void {
    this.#refusals.inc({ provider, priority, cause })
  }
}
