import type { Environment } from '../config.ts'

/** Valid values. None of them can change the host of an address to another domain. */
export const settingPatterns = {
  region: /^[a-z][a-z0-9-]{0,62}$/,
  project: /^[a-z0-9]+(?:[.:-]+[a-z0-9]+)*$/,
  resource: /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
  resource_type: /^[a-z][a-z_]*$/,
  account: /^[A-Za-z0-9-]{1,64}$/,
} as const

export type SettingName = keyof typeof settingPatterns
export const settingNames = Object.keys(settingPatterns) as SettingName[]

/** Values of the placeholders of an address, by name. */
export type ProviderSettings = Readonly<Partial<Record<SettingName, string>>>

export interface SettingSource {
  /** The environment variables that its users usually have; the first that is set is used. */
  variables: readonly string[]
  /** The value for BYOK credentials, if neither they nor the installation set one. */
  fallback?: string
}

export interface ProviderAddress {
  /** `{region}` and the like are placeholders for settings, all of which are required. */
  baseUrl: string
  /** Other base URLs for certain settings; the first match is used. */
  addresses?: readonly { when: ProviderSettings; baseUrl: string }[]
}

/** The base URL with its placeholders filled in, or the name of a missing setting. */
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

/** The origin with placeholders, which does not depend on the settings. */
export function originOf({ baseUrl }: ProviderAddress): string | null {
  return URL.parse(baseUrl)?.origin ?? null
}

/** Settings from the environment; invalid values are ignored. */
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
