import { buildSignInUrl } from './access/site-url.ts'
import type { BootstrapResult } from './gateway/bootstrap.ts'
import { commandName } from './platform/build.ts'

/** Contains secrets only on the first start. */
export function formatStartupMessage(site: string, start: BootstrapResult | undefined): string {
  const base = `${site}/api/v1`
  const lines = start ? formatFirstStart(start, site, base) : []
  return [
    ...lines,
    `Headgate is listening. Console: ${site}   Base URL: ${base}   API reference: ${site}/reference`,
    '',
  ].join('\n')
}

function formatFirstStart(start: BootstrapResult, site: string, base: string): string[] {
  return [
    '',
    'Welcome to Headgate. The first start created the following.',
    'The keys are shown only once. Store them now.',
    '',
    `  Organization     ${start.organization.name} (${start.organization.id})`,
    `  Workspace        ${start.workspace.name} (${start.workspace.id})`,
    `  Owner            ${start.owner.email} (${start.owner.id})`,
    `  Management key   ${start.managementKey ?? 'the value of HEADGATE_MANAGEMENT_KEY'}`,
    `  Inference key    ${start.inferenceKey}`,
    '',
    `Sign in with a browser (valid once, for one hour; "${commandName} signin" prints a new link):`,
    `  ${buildSignInUrl(site, start.signInToken)}`,
    '',
    'Try it:',
    `  curl ${base}/chat/completions -H "Authorization: Bearer ${start.inferenceKey}" \\`,
    `    -d '{"model": "sandbox/echo", "messages": [{"role": "user", "content": "Hello"}]}'`,
    '',
  ]
}
