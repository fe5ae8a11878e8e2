/** The message is shown to the operator without a stack. */
export class ConfigError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>

export function readInteger(
  name: string,
  text: string | undefined,
  byDefault: number,
  [min, max]: readonly [number, number],
): number {
  if (!text) return byDefault
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new ConfigError(`${name} must be an integer from ${min} to ${max}, not "${text}".`)
}

/** The value is not in the message: such URLs contain passwords. */
export function readUrl(name: string, text: string | undefined, protocols: string[]): string | null {
  if (!text) return null
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && protocols.includes(url.protocol)) return text
  throw new ConfigError(
    `${name} must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}.`,
  )
}
