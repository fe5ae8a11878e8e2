import { z } from 'zod'
import { secondsField } from '../../platform/validation/setting-fields.ts'

const share = z.number().positive().max(1)

/** Who passes first where the rate of a provider is nearly used. */
export const prioritySettings = z
  .strictObject({
    /** The share of a provider's rate up to which requests of each priority pass; beyond it they wait. */
    thresholds: z
      .strictObject({
        low: share.default(0.7),
        normal: share.default(0.9),
        high: share.default(1),
      })
      .refine(({ low, normal, high }) => low <= normal && normal <= high, 'must have low ≤ normal ≤ high')
      .prefault({}),
    /** The longest wait. Shorter than `limits.heartbeat`, after which a stream has begun and can only end with an error. */
    longest_wait: secondsField(8, 600),
    /** Requests that wait for one endpoint with one credential, on one node. */
    queue_length: z.int().min(1).max(10_000).default(100),
    /** The share of such a queue that requests of one key may occupy; one always may. */
    key_share: share.default(0.25),
    /** Requests that wait on one node. */
    total_length: z.int().min(1).max(100_000).default(1000),
  })
  .prefault({})

export type PrioritySettings = z.output<typeof prioritySettings>
