import { Id } from '../../../components/copy.tsx'
import { DocsTextLink } from '../../../components/docs-link.tsx'
import { Fields } from '../../../components/fields.tsx'
import { Panel } from '../../../components/panel.tsx'
import { Connections } from './connections.tsx'
import { Domains } from './domains.tsx'
import { Enforcement } from './enforcement.tsx'
import { Identities } from './identities.tsx'

export function Sso() {
  return (
    <>
      <Setup />
      <Connections />
      <Domains />
      <Enforcement />
      <Identities />
    </>
  )
}

/** Shows the addresses that the provider sends people back to. */
function Setup() {
  const addresses: [string, string][] = [
    ['Redirect URI', 'signin/oidc/callback'],
    ['After signing out', 'signin'],
    ['Back-channel logout', 'signin/oidc/backchannel-logout'],
  ]
  return (
    <Panel
      title="Register Headgate at your provider"
      description={
        <>
          Register a confidential web application that uses the authorization code flow, with these addresses.
          Steps for Okta, Microsoft Entra ID and Keycloak are in the{' '}
          <DocsTextLink page="sso">single sign-on guide</DocsTextLink>.
        </>
      }
    >
      <Fields
        fields={addresses.map(([name, path]) => {
          const address = new URL(path, document.baseURI).href
          return [name, <Id key={path} value={address} label={`Copy: ${name}`} />]
        })}
      />
    </Panel>
  )
}
