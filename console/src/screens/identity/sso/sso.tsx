import { Code } from '@mantine/core'
import { Id } from '../../../components/copy.tsx'
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
          As a confidential web application with the authorization code flow, and with these addresses. Step
          by step for Okta, Microsoft Entra ID and Keycloak: <Code>docs/sso.md</Code> in the documentation.
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
