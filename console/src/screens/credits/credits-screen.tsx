import { Anchor, SimpleGrid } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { Figure } from '../../components/figure.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Entries, entriesOptions } from './entries.tsx'
import { GrantCredits } from './grant-credits.tsx'
import { LedgerCheck, ledgerCheckCall } from './ledger-check.tsx'

export const screen = createLazyRoute('/credits')({ component: CreditsScreen })

const credits = api.queryOptions('get', '/credits')

function CreditsScreen() {
  const session = useSession()
  const query = useQuery(credits)
  const filters = screen.useSearch()
  const navigate = screen.useNavigate()
  const mayCheck = mayDoEverywhere(session, 'system:read')
  return (
    <Page
      title="Credits"
      docs="billing"
      description={
        <>
          Requests are paid from the credits of the organization.{' '}
          {mayDo(session, 'budgets:read') && (
            <>
              <Anchor component={Link} to="/budgets" underline="always">
                Budgets
              </Anchor>{' '}
              limit what workspaces, members and keys may spend.
            </>
          )}
        </>
      }
      calls={[callOf(credits), callOf(entriesOptions(filters)), ...(mayCheck ? [ledgerCheckCall] : [])]}
      actions={
        mayDoEverywhere(session, 'credits:write') && (
          <DialogButton label="Add credits" action="add">
            {(close) => <GrantCredits onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data: { total_credits, total_usage } }) => (
          <>
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              <Figure label="Balance">
                <Money value={total_credits - total_usage} />
              </Figure>
              <Figure label="Credits added">
                <Money value={total_credits} />
              </Figure>
              <Figure label="Credits used">
                <Money value={total_usage} />
              </Figure>
            </SimpleGrid>
            <Entries filters={filters} onChange={(search) => void navigate({ search })} />
            {mayCheck && <LedgerCheck />}
          </>
        )}
      </QueryView>
    </Page>
  )
}
