import type { TimeLimits } from '../../src/inference/upstream/exchange.ts'

/** The settings that an exchange reads, with limits that no test reaches by accident. */
export const exchangeSettings: { limits: TimeLimits } = {
  limits: {
    first_byte: 120_000,
    first_content: 600_000,
    idle: 300_000,
    whole_reply: 600_000,
    total: 3_600_000,
  },
}
