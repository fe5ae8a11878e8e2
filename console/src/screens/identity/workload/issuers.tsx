import { Code, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { Id } from '../../../components/copy.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { DocsTextLink } from '../../../components/docs-link.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Item, ItemList } from '../../../components/item-list.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { IssuerForm } from './issuer-form.tsx'
import { type Issuer, issuersOptions, useWorkloadRefresh } from './queries.ts'

/** Lists the issuers whose tokens are accepted. */
export function Issuers() {
  const mayChange = mayDoEverywhere(useSession(), 'workload_identity:write')
  const query = useQuery(issuersOptions)
  return (
    <Panel
      title="Issuers"
      description={
        <>
          CI systems and clusters whose tokens are exchanged for short-lived credentials, with no stored keys.
          Examples for GitHub, GitLab and Kubernetes are in the{' '}
          <DocsTextLink page="workload-identity">workload identity guide</DocsTextLink>.
        </>
      }
      actions={
        mayChange && (
          <DialogButton label="Add an issuer">{(close) => <IssuerForm onClose={close} />}</DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="No issuers yet">
              Add the issuer of your CI system or cluster. Policies then map its tokens to API keys.
            </EmptyState>
          ) : (
            <IssuerList issuers={data} mayChange={mayChange} />
          )
        }
      </QueryView>
    </Panel>
  )
}

function IssuerList({ issuers, mayChange }: { issuers: Issuer[]; mayChange: boolean }) {
  return (
    <ItemList>
      {issuers.map((issuer) => (
        <Item key={issuer.id} record={issuer} actions={mayChange && <IssuerActions issuer={issuer} />}>
          <Text size="sm" fw={600}>
            {issuer.name}
          </Text>
          <Code>{issuer.issuer}</Code>
          <div>
            <Id value={issuer.id} />
          </div>
          <Text size="sm" c="dimmed">
            Keys from {issuer.jwks_uri ?? 'its metadata'} · {issuer.algorithms.join(', ')}
          </Text>
        </Item>
      ))}
    </ItemList>
  )
}

function IssuerActions({ issuer }: { issuer: Issuer }) {
  const refresh = useWorkloadRefresh()
  const { id, name } = issuer
  const remove = async () => {
    await client.DELETE('/workload-identity/issuers/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <Group gap="xs">
      <DialogButton label="Edit" description={`Edit ${name}`} variant="default">
        {(close) => <IssuerForm issuer={issuer} onClose={close} />}
      </DialogButton>
      <DialogButton label="Delete" description={`Delete ${name}`} color="red" variant="outline">
        {(close) => (
          <ConfirmByName
            title="Delete an issuer"
            name={name}
            action="Delete"
            onConfirm={remove}
            onClose={close}
          >
            Its tokens are no longer accepted. Delete the policies of an issuer before the issuer.
          </ConfirmByName>
        )}
      </DialogButton>
    </Group>
  )
}
