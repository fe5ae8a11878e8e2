import { Code, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { PagedList } from '../../../components/paged-list.tsx'
import { Panel } from '../../../components/panel.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { Time } from '../../../components/time.tsx'
import { useMemberNames } from '../../../components/use-members.ts'
import { identitiesOptions, identitiesPageSize, useSsoRefresh } from './queries.ts'

type Identity = Schemas['SsoIdentity']

/** Lists which member each identity of the provider belongs to. */
export function Identities() {
  const [offset, setOffset] = useState(0)
  const query = useQuery({ ...identitiesOptions(offset), placeholderData: keepPreviousData })
  return (
    <Panel
      title="People who have signed in"
      description="Links between people at the provider and members. Remove a link if the provider has reassigned the address."
    >
      <PagedList
        query={query}
        offset={offset}
        size={identitiesPageSize}
        onPage={setOffset}
        empty={<Text size="sm">No one yet.</Text>}
      >
        {(rows) => <IdentityTable identities={rows} />}
      </PagedList>
    </Panel>
  )
}

function IdentityTable({ identities }: { identities: Identity[] }) {
  const mayChange = mayDoEverywhere(useSession(), 'sso:write')
  const nameOf = useMemberNames(identities.map(({ user_id }) => user_id))
  return (
    <DataTable
      rows={identities}
      keyOf={({ id }) => id}
      minWidth={520}
      columns={[
        {
          header: 'Member',
          breaksWords: true,
          render: ({ user_id }) => (
            <TextLink to="/members/$id" params={{ id: user_id }}>
              {nameOf(user_id)}
            </TextLink>
          ),
        },
        {
          header: 'Person at the provider',
          breaksWords: true,
          render: ({ subject, issuer }) => (
            <>
              <Code>{subject}</Code>
              <Text size="xs" c="dimmed">
                {issuer}
              </Text>
            </>
          ),
        },
        {
          header: 'Last sign-in',
          render: ({ last_signed_in_at }) => <Time iso={last_signed_in_at} style="age" />,
        },
        mayChange && {
          header: 'Action',
          isHeaderHidden: true,
          render: (identity) => <RemoveLink identity={identity} member={nameOf(identity.user_id)} />,
        },
      ]}
    />
  )
}

function RemoveLink({ identity: { id, subject }, member }: { identity: Identity; member: string }) {
  const refresh = useSsoRefresh()
  const remove = async () => {
    await client.DELETE('/organization/sso/identities/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <DialogButton label="Remove" description={`Remove the link of ${member}`} color="red" variant="outline">
      {(close) => (
        <ConfirmByName
          title="Remove the link to a member"
          name={subject}
          action="Remove"
          onConfirm={remove}
          onClose={close}
        >
          {member} is signed out, and loses what single sign-on gave. The next person with the address is
          linked when they sign in.
        </ConfirmByName>
      )}
    </DialogButton>
  )
}
