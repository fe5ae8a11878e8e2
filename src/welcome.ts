import type { FirstStart } from './account/bootstrap.ts'
import type { Config } from './config.ts'
import type { Settings } from './settings.ts'

/** Where people reach this server. */
export function siteUrl(facts: { config: Config; settings: Settings; port: number }): string {
  if (facts.settings.public_url) return facts.settings.public_url.replace(/\/+$/, '')
  const everywhere = ['0.0.0.0', '::'].includes(facts.config.host)
  const host = everywhere ? 'localhost' : facts.config.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${facts.port}`
}

export function signinUrl(site: string, token: string): string {
  return `${site}/signin?token=${token}`
}

/** What the terminal shows: everything a newcomer needs, and secrets only on the very first start. */
export function welcome(site: string, start: FirstStart | undefined): string {
  const base = `${site}/api/v1`
  const lines = start ? firstLines(start, site, base) : []
  return [...lines, `Headgate is listening. Base URL: ${base}   API reference: ${site}/docs`, ''].join('\n')
}

function firstLines(start: FirstStart, site: string, base: string): string[] {
  return [
    '',
    'Welcome to Headgate. This is the first start, so here is what was made for you.',
    'The keys are shown this once: keep them.',
    '',
    `  Organization     ${start.organization.name} (${start.organization.id})`,
    `  Workspace        ${start.workspace.name} (${start.workspace.id})`,
    `  Owner            ${start.owner.email} (${start.owner.id})`,
    `  Management key   ${start.managementKey ?? 'the value of HEADGATE_MANAGEMENT_KEY'}`,
    `  Inference key    ${start.inferenceKey}`,
    '',
    'Sign in with the browser (works once, within the hour; "npm run headgate -- signin" prints another):',
    `  ${signinUrl(site, start.signinToken)}`,
    '',
    'Try it:',
    `  curl ${base}/chat/completions -H "Authorization: Bearer ${start.inferenceKey}" \\`,
    `    -d '{"model": "sandbox/echo", "messages": [{"role": "user", "content": "Hello"}]}'`,
    '',
  ]
}
