import { apiUrl } from './base-url.ts'

/** A call of the API: what a query key of `api.queryOptions` says. */
export interface Call {
  method: string
  path: string
  query?: Record<string, unknown>
  body?: unknown
  /** Fields of a form instead of a body; a file is `@` and its name. */
  form?: Record<string, string>
  headers?: Record<string, string>
}

interface Init {
  params?: { path?: Record<string, unknown>; query?: Record<string, unknown> }
  body?: unknown
}

export function callOf({ queryKey }: { queryKey: readonly unknown[] }): Call {
  const [method, template, init] = queryKey as [string, string, Init | undefined]
  const path = template.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(init?.params?.path?.[name] ?? '')),
  )
  return {
    method: method.toUpperCase(),
    path,
    ...(init?.params?.query && { query: init.params.query }),
    ...(init?.body !== undefined && { body: init.body }),
  }
}

export function urlOf({ path, query = {} }: Call, base = apiUrl()): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value))
  }
  return `${base}${path}${search.size > 0 ? `?${search}` : ''}`
}

/** The call as a command. The key is a variable of the shell: none is shown. */
export function curlOf(call: Call, base = apiUrl()): string {
  const lines = [`curl ${call.method === 'GET' ? '' : `-X ${call.method} `}${quote(urlOf(call, base))}`]
  lines.push('  -H "Authorization: Bearer $HEADGATE_KEY"')
  for (const [name, value] of Object.entries(call.headers ?? {}))
    lines.push(`  -H ${quote(`${name}: ${value}`)}`)
  for (const [name, value] of Object.entries(call.form ?? {})) lines.push(`  -F ${quote(`${name}=${value}`)}`)
  if (call.body !== undefined) {
    lines.push("  -H 'Content-Type: application/json'")
    lines.push(`  -d ${quote(JSON.stringify(call.body, null, 2))}`)
  }
  return lines.join(' \\\n')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
