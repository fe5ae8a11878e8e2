import type { Gateway } from '../../gateway/gateway.ts'
import { html, renderPage } from './markup.ts'

/**
 * A page that continues at another site at once. Unlike a redirect, it may follow a form: the policy of the page with
 * the form allows redirects to this server only.
 */
export function renderForwardPage(
  gateway: Gateway,
  { title, link, url }: { title: string; link: string; url: string },
): Response {
  const response = renderPage(gateway, { title, body: html`<p><a href="${url}">${link}</a></p>` })
  response.headers.set('refresh', `0; url=${url}`)
  return response
}
