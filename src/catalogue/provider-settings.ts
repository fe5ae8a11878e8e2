import type { Environment } from '../config.ts'

/** What a value may be. None of them can lead to another host than the one its address is for. */
export const settingPatterns = {
  region: /^[a-z][a-z0-9-]{0,62}$/,
  project: /^[a-z0-9]+(?:[.:-]+[a-z0-9]+)*$/,
  resource: /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
  resource_type: /^[a-z][a-z_]*$/,
  account: /^[A-Za-z0-9-]{1,64}$/,
} as const

export type SettingName = keyof typeof settingPatterns
export const settingNames = Object.keys(settingPatterns) as SettingName[]

/** Where in a provider, and how, by name. */
export type ProviderSettings = Readonly<Partial<Record<SettingName, string>>>

export interface SettingSource {
  /** The environment variables its users already have, the first that is set. */
  variables: readonly string[]
  /** For a credential of one's own that does not say, where the installation does not either. */
  fallback?: string
}

export interface ProviderAddress {
  /** `{region}` and the like are settings, without which nothing can be sent. */
  baseUrl: string
  /** Where some values of its settings lead elsewhere; the first that fits. */
  addresses?: readonly { when: ProviderSettings; baseUrl: string }[]
}

/** The base URL without gaps; the name of what is missing when there is one. */
export function resolveAddress(
  { baseUrl, addresses = [] }: ProviderAddress,
  settings: ProviderSettings,
): { url: string; missing: null } | { url: null; missing: SettingName } {
  const match = addresses.find(({ when }) =>
    Object.entries(when).every(([name, value]) => settings[name as SettingName] === value),
  )
  let missing: SettingName | null = null
  const url = (match?.baseUrl ?? baseUrl).replace(/\{(\w+)\}/g, (placeholder, name: SettingName) => {
    const value = settings[name]
    if (value === undefined) missing ??= name
    return value ?? placeholder
  })
  return missing === null ? { url, missing } : { url: null, missing }
}

/** Whose address it is, whatever its settings are: gaps stay gaps. */
export function originOf({ baseUrl }: ProviderAddress): string | null {
  return URL.parse(baseUrl)?.origin ?? null
}

/** What the environment says; a value that cannot be one counts as not said. */
export function readSettings(
  sources: Readonly<Partial<Record<SettingName, SettingSource>>> | undefined,
  environment: Environment,
): ProviderSettings {
  const entries = Object.entries(sources ?? {}).flatMap(([name, { variables }]) => {
    const value = variables.map((variable) => environment[variable]).find(Boolean)
    const isValid = value !== undefined && settingPatterns[name as SettingName].test(value)
    return isValid ? [[name, value]] : []
  })
  return Object.fromEntries(entries)
}
