import { Button, Code, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { Pager } from '../../../components/pager.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { Time } from '../../../components/time.tsx'
import { useMemberNames } from '../../../components/use-member-names.ts'
import { identitiesOptions, identitiesPageSize, useRefresh } from './queries.ts'

type Identity = Schemas['SsoIdentity']

/** Who is who. */
export function Identities() {
  const [offset, setOffset] = useState(0)
  const query = useQuery({ ...identitiesOptions(offset), placeholderData: keepPreviousData })
  return (
    <Panel
      title="People who have signed in"
      description="Which person of the provider is which member. Remove a link if the provider has given the address to somebody else."
    >
      <QueryView query={query}>
        {({ data, total_count }) =>
          total_count === 0 ? (
            <Text size="sm">Nobody yet.</Text>
          ) : (
            <>
              <IdentityTable identities={data} />
              <Pager offset={offset} size={identitiesPageSize} total={total_count} onChange={setOffset} />
            </>
          )
        }
      </QueryView>
    </Panel>
  )
}

function IdentityTable({ identities }: { identities: Identity[] }) {
  const mayChange = mayDoEverywhere(useSession(), 'sso:write')
  const nameOf = useMemberNames()
  const refresh = useRefresh()
  const [removed, setRemoved] = useState<Identity | null>(null)
  const remove = async ({ id }: Identity) => {
    await client.DELETE('/organization/sso/identities/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <Table.ScrollContainer minWidth={520}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Member</Table.Th>
            <Table.Th>Person at the provider</Table.Th>
            <Table.Th>Last sign-in</Table.Th>
            {mayChange && <Table.Th>Action</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {identities.map((identity) => (
            <Table.Tr key={identity.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <TextLink to="/members/$id" params={{ id: identity.user_id }}>
                  {nameOf(identity.user_id)}
                </TextLink>
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Code>{identity.subject}</Code>
                <Text size="xs" c="dimmed">
                  {identity.issuer}
                </Text>
              </Table.Td>
              <Table.Td>
                <Time iso={identity.last_signed_in_at} style="age" />
              </Table.Td>
              {mayChange && (
                <Table.Td>
                  <Button
                    size="xs"
                    variant="outline"
                    color="red"
                    aria-label={`Remove the link of ${nameOf(identity.user_id)}`}
                    onClick={() => setRemoved(identity)}
                  >
                    Remove
                  </Button>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {removed && (
        <ConfirmByName
          title="Remove the link to a member"
          name={removed.subject}
          action="Remove"
          onConfirm={() => remove(removed)}
          onClose={() => setRemoved(null)}
        >
          {nameOf(removed.user_id)} is signed out, and loses what single sign-on gave. The next person with
          the address is linked when they sign in.
        </ConfirmByName>
      )}
    </Table.ScrollContainer>
  )
}
