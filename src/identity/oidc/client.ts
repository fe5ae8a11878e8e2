/** Loaded with the first single sign-on. */
export function loadOidcClient(): Promise<typeof import('openid-client')> {
  return import('openid-client')
}
