import { z } from 'zod'
import { optionalSecondsField, secondsField } from '../platform/validation/setting-fields.ts'

/** Limits of an inference request, and rates of all requests. Sizes in bytes, times in seconds. */
export const requestLimits = z
  .strictObject({
    body_bytes: z
      .int()
      .min(1024)
      .default(32 * 1024 * 1024),
    /** JSON values in a body: the cost of parsing grows with their number, not with the bytes. */
    body_values: z.int().min(1000).default(500_000),
    /** Entries of any list or object in a request: messages, input items, contents, tools, `logit_bias`, top-level fields. */
    list_entries: z.int().min(100).default(10_000),
    /** Content parts of all messages together. */
    parts: z.int().min(100).default(20_000),
    /** Maximum pause of a body's sender, and the average bytes per second required beyond that. */
    body_idle: secondsField(30),
    body_rate: z.int().min(1).default(4096),
    /** Bytes of a provider's reply, streamed or not. */
    reply_bytes: z
      .int()
      .min(1024)
      .default(64 * 1024 * 1024),
    /** JSON values in a whole reply, or in an event of a stream: enough for the logprobs of a long reply. */
    reply_values: z.int().min(1000).default(1_000_000),
    /** Events of a streamed reply. */
    reply_events: z.int().min(1).default(500_000),
    /** Tool calls, texts, images and other parts of a reply. */
    reply_parts: z.int().min(1).default(10_000),
    /** Time to connect to a provider. */
    connect: secondsField(10),
    /** Time from the request to the first byte of a stream. */
    first_byte: secondsField(120),
    /** Time from the first byte of a stream to its first content: hidden reasoning takes time. */
    first_content: secondsField(600),
    /** Time between two events of a stream that carry content; before the first one, between any two bytes. */
    idle: secondsField(300),
    /** Time for a reply that is not streamed; `total` is for a whole stream. */
    whole_reply: secondsField(600),
    total: secondsField(3600),
    /** The share of the requests in progress that may be sent to a second endpoint too; three may always, unless it is 0. */
    hedged_share: z.number().min(0).max(1).default(0.1),
    /** Interval of heartbeats to a client that would otherwise receive nothing. */
    heartbeat: secondsField(10),
    /** Time for which a client may read nothing of its reply; at least two heartbeats of a stream. */
    client_idle: secondsField(120, 255),
    /** The longest cooldown that a provider's `Retry-After` can cause. */
    cooldown: secondsField(300),
    /** Time for requests in flight to finish after a stop signal. */
    drain: secondsField(25),
    /** Time in which requests are accepted after a stop signal; null: 5 seconds, or none if started in a terminal. */
    drain_delay: optionalSecondsField(300),
    /** Requests of one key per minute and node: a guard against runaway clients. */
    requests_per_minute: z.int().min(1).default(1_000_000),
    /** Requests of one management key or member, per minute and node. */
    management_requests_per_minute: z.int().min(1).default(1200),
    /** Requests of one key or member for neither models nor management: files, generations, stored responses. */
    lookup_requests_per_minute: z.int().min(1).default(6000),
    /** Requests of one address without a credential: sign-in pages and public operations. */
    anonymous_requests_per_minute: z.int().min(1).default(1200),
    /** Requests of one address whose credential is missing or not valid. Valid ones are never counted. */
    failed_authentications_per_minute: z.int().min(1).default(300),
  })
  .prefault({})
