import { useQuery } from '@tanstack/react-query'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { Id } from '../../../components/copy.tsx'
import { DocsTextLink } from '../../../components/docs-link.tsx'
import { Fields } from '../../../components/fields.tsx'
import { Panel } from '../../../components/panel.tsx'
import { Time } from '../../../components/time.tsx'
import { formatCount } from '../../../format/number.ts'
import { Mappings } from './mappings.tsx'
import { groupsOptions, mappingsOptions, recentOptions } from './queries.ts'
import { RecentChanges } from './recent-changes.tsx'
import { Tokens } from './tokens.tsx'

export function Scim() {
  const readsAudit = mayDoEverywhere(useSession(), 'audit:read')
  return (
    <>
      <Overview readsAudit={readsAudit} />
      <Tokens />
      <Mappings />
      {readsAudit && <RecentChanges />}
    </>
  )
}

/** Shows the settings to enter at the identity provider, and a summary of what it has sent. */
function Overview({ readsAudit }: { readsAudit: boolean }) {
  const address = new URL('scim/v2', document.baseURI).href
  const groups = useQuery(groupsOptions(0)).data?.total_count
  const mappings = useQuery(mappingsOptions(0)).data?.total_count
  const recent = useQuery({ ...recentOptions, enabled: readsAudit }).data?.data
  const last = recent?.[0]?.created_at
  return (
    <Panel
      title="Provisioning"
      description={
        <>
          Your identity provider creates, renames and removes members, and pushes groups. Steps for Okta and
          Microsoft Entra ID are in the <DocsTextLink page="scim">provisioning guide</DocsTextLink>.
        </>
      }
    >
      <Fields
        fields={[
          ['Base URL', <Id key="address" value={address} label="Copy the base URL" />],
          ['Groups', groups === undefined ? '–' : formatCount(groups)],
          ['Mappings', mappings === undefined ? '–' : formatCount(mappings)],
          ['Last change', last ? <Time key="last" iso={last} style="age" /> : recent ? 'none yet' : '–'],
        ]}
      />
    </Panel>
  )
}
