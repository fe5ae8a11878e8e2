import { z } from 'zod'

/** Breakpoints for the prompt caches of providers, where prompts are seen to begin alike. */
export const promptCachingSettings = z
  .strictObject({
    enabled: z.boolean().default(true),
    /** Beginnings of prompts that a node remembers. */
    prefixes: z.int().min(0).max(1_000_000).default(50_000),
  })
  .prefault({})

/** Replies cached in memory, on this node, for identical requests. */
export const responseCacheSettings = z
  .strictObject({
    enabled: z.boolean().default(true),
    /** Size of all entries. */
    bytes: z
      .int()
      .min(0)
      .default(64 * 1024 * 1024),
    /** Size of one entry: a longer reply is not cached. */
    entry_bytes: z
      .int()
      .min(0)
      .default(4 * 1024 * 1024),
  })
  .prefault({})
