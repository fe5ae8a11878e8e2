import type { Config } from '../config.ts'
import type { Settings } from '../gateway/settings.ts'

/** The URL of this server for browsers and links. */
export function resolveSiteUrl(installation: { config: Config; settings: Settings; port: number }): string {
  if (installation.settings.public_url) return installation.settings.public_url.replace(/\/+$/, '')
  const isWildcard = ['0.0.0.0', '::'].includes(installation.config.host)
  const host = isWildcard ? 'localhost' : installation.config.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${installation.port}`
}

export function buildSignInUrl(site: string, token: string): string {
  return `${site}/signin?token=${token}`
}
