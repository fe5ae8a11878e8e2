import type { Gateway } from '../../../gateway/gateway.ts'
import { countOrganizations, findOperatorOrganization } from '../../../identity/organizations.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

/** Minimum for an installation with several organizations: fewer could be recognized in a figure. */
const defaultMinOrganizations = 5
const licenseUrl = 'https://creativecommons.org/licenses/by/4.0/'

/** Resolves the number of organizations that a figure needs; 404 if the operator does not publish datasets. */
export async function resolveMinOrganizations({ db, settings }: Gateway): Promise<number> {
  const { publish, min_organizations } = settings.datasets
  if (!publish)
    throw gatewayError(
      'not_found',
      'The operator of this installation does not publish datasets (datasets.publish).',
    )
  return min_organizations ?? ((await countOrganizations(db)) > 1 ? defaultMinOrganizations : 1)
}

export interface LicenseNotice {
  license: 'CC-BY-4.0'
  attribution: string
}

/** Everyone may use the data who names the operator. */
export async function buildNotice({ db, settings }: Gateway): Promise<LicenseNotice> {
  const name = settings.datasets.operator_name ?? (await findOperatorOrganization(db))?.name ?? ''
  return { license: 'CC-BY-4.0', attribution: name }
}

export function respondWithLicense(body: object): Response {
  return Response.json(body, { headers: { link: `<${licenseUrl}>; rel="license"` } })
}
