import { escapeHtml, renderHtmlPage } from '../lib/html.ts'
import type { OpenApiDocument } from './openapi.ts'

type Json = Record<string, unknown>

/** The API reference, rendered from openapi.json without scripts: it works offline and under a strict CSP. */
export function renderReferencePage(document: OpenApiDocument, base: string): Response {
  const sections = (document.tags ?? []).map((tag) =>
    renderSection(tag.name, listOperations(document, tag.name)),
  )
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) =>
      `<details id="schema-${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code></summary>${renderJson(schema)}</details>`,
  )
  const body = `<h1>Headgate API reference</h1>
<p>Version ${escapeHtml(document.info.version)}. Base URL <code>/api/v1</code> (also <code>/v1</code>). Send a key as <code>Authorization: Bearer &lt;API_KEY&gt;</code>. Machine-readable: <a href="openapi.json">openapi.json</a>.</p>
${sections.join('')}<h2>Schemas</h2>${schemas.join('')}`
  return renderHtmlPage({
    base,
    title: 'Headgate API reference',
    body,
    headers: { 'cache-control': 'max-age=300' },
  })
}

interface Entry {
  method: string
  path: string
  operation: Json
}

function listOperations(document: OpenApiDocument, tag: string): Entry[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Json>)
      .filter(([, operation]) => (operation.tags as string[]).includes(tag))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

function renderSection(tag: string, entries: Entry[]): string {
  return `<h2>${escapeHtml(tag)}</h2>${entries.map(renderEntry).join('')}`
}

function renderEntry({ method, path, operation }: Entry): string {
  const parameters = (operation.parameters ?? []) as Json[]
  const rows = parameters.map(
    (parameter) =>
      `<tr><td><code>${escapeHtml(String(parameter.name))}</code></td><td>${escapeHtml(String(parameter.in))}${parameter.required ? ', required' : ''}</td><td><code>${escapeHtml(JSON.stringify(parameter.schema))}</code></td></tr>`,
  )
  const parts = [
    `<p>${escapeHtml(String(operation.description ?? '')).replaceAll('\n\n', '</p><p>')}</p>`,
    rows.length ? `<table>${rows.join('')}</table>` : '',
    operation.requestBody ? `<p>Body</p>${renderJson((operation.requestBody as Json).content)}` : '',
    `<p>Responses</p>${Object.entries(operation.responses as Record<string, Json>)
      .map(renderResponse)
      .join('')}`,
    `<p>Example</p><pre>${escapeHtml(formatCurl(method, path, operation))}</pre>`,
  ]
  return `<details id="${escapeHtml(String(operation.operationId))}"><summary><span class="method">${method}</span> <code>${escapeHtml(path)}</code> <span class="quiet">${escapeHtml(String(operation.summary))}</span></summary>${parts.join('')}</details>`
}

function renderResponse([status, response]: [string, Json]): string {
  const label = `<code>${escapeHtml(status)}</code> ${escapeHtml(String(response.description))}`
  return Number(status) >= 400 ? `<div>${label}</div>` : `<div>${label}</div>${renderJson(response.content)}`
}

function formatCurl(method: string, path: string, operation: Json): string {
  const base = operation.servers ? '' : '/api/v1'
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}"$HEADGATE_URL${base}${path}"`]
  if (!Array.isArray(operation.security)) lines.push('  -H "Authorization: Bearer $HEADGATE_KEY"')
  const content = (operation.requestBody as Json | undefined)?.content as Json | undefined
  if (content?.['application/json']) lines.push(`  -H 'Content-Type: application/json' -d '{ ... }'`)
  if (content?.['multipart/form-data']) lines.push('  -F file=@document.pdf')
  return lines.join(' \\\n')
}

function renderJson(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`
}
