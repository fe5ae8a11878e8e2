/**
 * A conversation of texts, without tools, media, reasoning options or a service tier. Stages read this instead of the
 * call, which need not be decoded then.
 */
export interface PlainPrompt {
  messageCount: number
  /** The length of its texts. */
  characters: number
  stream: boolean
  maxTokens: number | undefined
}
