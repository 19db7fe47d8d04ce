# The images of docker-compose.yml without their digests, which a stand-in cannot have.
compose=$(dirname "${BASH_SOURCE[0]}")/../../../docker-compose.yml
for variable in NODE BASE POSTGRES REDIS RABBITMQ NGINX; do
  declared=$(sed --quiet "s/.*\${${variable}_IMAGE:-\([^@}]*\)@.*/\1/p" "$compose")
  export "${variable}_IMAGE=$declared"
done
