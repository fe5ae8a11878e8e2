export function renderLicenses(): string
